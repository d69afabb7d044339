"""Objects that the field's formulas need and SymPy lacks: inner products, averages over a law, means over tokens."""

from __future__ import annotations

from typing import Any

import sympy as sp
from sympy.printing.precedence import PRECEDENCE
from sympy.printing.pretty.stringpict import prettyForm

#: The law of the tokens, as it appears in ∫ … dm(y).
m = sp.Symbol("m")
#: The dimension of the tokens and their number, when they are left general.
d = sp.Symbol("d", integer=True, positive=True)
n = sp.Symbol("n", integer=True, positive=True)


class Inner(sp.Expr):
    """The inner product ⟨a, b⟩ = aᵀb of two column vectors, a scalar."""

    def __new__(cls, a: sp.MatrixExpr, b: sp.MatrixExpr) -> Inner:
        return sp.Expr.__new__(cls, a, b)

    def _latex(self, printer: Any) -> str:
        return rf"\left\langle {printer._print(self.args[0])}, {printer._print(self.args[1])}\right\rangle"

    def _sympystr(self, printer: Any) -> str:
        return f"<{printer._print(self.args[0])}, {printer._print(self.args[1])}>"

    def _pretty(self, printer: Any) -> prettyForm:
        inside = printer._print_seq(self.args, delimiter=", ")
        return prettyForm(*prettyForm(*prettyForm("⟨").right(inside)).right("⟩"))


class Average(sp.Expr):
    """The average ∫ f(y) dm(y) of a scalar f over a law m."""

    def __new__(cls, integrand: sp.Expr, variable: sp.Basic, law: sp.Symbol = m) -> sp.Expr:
        return sp.S.One if integrand == 1 else sp.Expr.__new__(cls, integrand, variable, law)

    def _eval_conjugate(self) -> sp.Expr:
        return Average(sp.conjugate(self.args[0]), *self.args[1:])

    def _latex(self, printer: Any) -> str:
        return _integral_latex(self.args, printer)

    def _sympystr(self, printer: Any) -> str:
        return _integral_text(self.args, printer)

    def _pretty(self, printer: Any) -> prettyForm:
        return _integral_pretty(self.args, printer)


class VectorAverage(sp.MatrixExpr):
    """The average ∫ f(y) dm(y) of a column vector or a matrix f over a law m."""

    def __new__(cls, integrand: sp.MatrixExpr, variable: sp.Basic, law: sp.Symbol = m) -> VectorAverage:
        return sp.Basic.__new__(cls, integrand, variable, law)

    @property
    def shape(self) -> tuple[sp.Expr, sp.Expr]:
        return self.args[0].shape

    def _latex(self, printer: Any) -> str:
        return _integral_latex(self.args, printer)

    def _sympystr(self, printer: Any) -> str:
        return _integral_text(self.args, printer)

    def _pretty(self, printer: Any) -> prettyForm:
        return _integral_pretty(self.args, printer)


#: The index of a head, when their number is left general.
h = sp.Symbol("h", integer=True, positive=True)


class HeadMatrix(sp.MatrixExpr):
    """The matrix of head number `index`, such as B_h: its name, the index, and its shape."""

    def __new__(cls, name: sp.Symbol, index: sp.Expr, rows: sp.Expr, columns: sp.Expr) -> HeadMatrix:
        return sp.Basic.__new__(cls, name, sp.sympify(index), sp.sympify(rows), sp.sympify(columns))

    @property
    def shape(self) -> tuple[sp.Expr, sp.Expr]:
        return self.args[2], self.args[3]

    def numbered(self) -> sp.MatrixSymbol:
        """The matrix symbol of a head whose index is a number: B_2."""
        return sp.MatrixSymbol(f"{self.args[0]}_{self.args[1]}", *self.shape)

    def _latex(self, printer: Any) -> str:
        return f"{printer._print(self.args[0])}_{{{printer._print(self.args[1])}}}"

    def _sympystr(self, printer: Any) -> str:
        return f"{self.args[0]}_{self.args[1]}"

    def _pretty(self, printer: Any) -> prettyForm:
        return printer._print(sp.Symbol(f"{self.args[0]}_{self.args[1]}"))


class HeadSum(sp.MatrixExpr):
    """The sum Σ_h f(h) of matrices over heads h = 1 … H."""

    def __new__(cls, summand: sp.MatrixExpr, index: sp.Symbol, heads: sp.Symbol) -> sp.MatrixExpr:
        return summand if isinstance(summand, sp.ZeroMatrix) else sp.Basic.__new__(cls, summand, index, heads)

    @property
    def shape(self) -> tuple[sp.Expr, sp.Expr]:
        return self.args[0].shape

    def doit(self, **hints: Any) -> sp.MatrixExpr:
        return HeadSum(self.args[0].doit(**hints), *self.args[1:])

    def _eval_transpose(self) -> sp.MatrixExpr:
        return HeadSum(self.args[0].T.doit(), *self.args[1:])

    def _latex(self, printer: Any) -> str:
        index, heads = (printer._print(arg) for arg in self.args[1:])
        return rf"\sum_{{{index}=1}}^{{{heads}}} {printer.parenthesize(self.args[0], PRECEDENCE['Add'])}"

    def _sympystr(self, printer: Any) -> str:
        summand, index, heads = (printer._print(arg) for arg in self.args)
        return f"Sum({summand}, {index}=1..{heads})"

    def _pretty(self, printer: Any) -> prettyForm:
        summand = printer._print(self.args[0])
        if isinstance(self.args[0], sp.MatAdd):
            summand = prettyForm(*summand.parens())
        return prettyForm(*prettyForm(f"∑[{self.args[1]} ≤ {self.args[2]}] ").right(summand))


class LogMGF(sp.Expr):
    """The log moment generating function K(ξ) = log ∫ e^⟨ξ,y⟩ dm(y) of the law.

    With a second argument Λ, that of the law reweighted by a quadratic: K_Λ(ξ) = log ∫ e^{⟨ξ,y⟩ − ⟨y,Λy⟩/2} dm(y).
    """

    def __new__(cls, at: sp.MatrixExpr, *curvature: sp.MatrixExpr) -> LogMGF:
        return sp.Expr.__new__(cls, at, *curvature)

    def _latex(self, printer: Any) -> str:
        return _generating_latex("K", self.args, printer)

    def _sympystr(self, printer: Any) -> str:
        return _generating_text("K", self.args, printer)

    def _pretty(self, printer: Any) -> prettyForm:
        return prettyForm(_generating_text("K", self.args, printer))


class LogMGFGradient(sp.MatrixExpr):
    """The gradient ∇K (or ∇K_Λ) of the log moment generating function, at a column vector."""

    def __new__(cls, at: sp.MatrixExpr, *curvature: sp.MatrixExpr) -> LogMGFGradient:
        return sp.Basic.__new__(cls, at, *curvature)

    @property
    def shape(self) -> tuple[sp.Expr, sp.Expr]:
        return self.args[0].shape

    def _latex(self, printer: Any) -> str:
        return _generating_latex(r"\nabla K", self.args, printer)

    def _sympystr(self, printer: Any) -> str:
        return _generating_text("∇K", self.args, printer)

    def _pretty(self, printer: Any) -> prettyForm:
        return prettyForm(_generating_text("∇K", self.args, printer))


class TimeDerivative(sp.Expr):
    """The time derivative ∂ₜf of a scalar that moves with the law."""

    def __new__(cls, function: sp.Expr) -> TimeDerivative:
        return sp.Expr.__new__(cls, function)

    def _latex(self, printer: Any) -> str:
        return rf"\partial_t {printer._print(self.args[0])}"

    def _sympystr(self, printer: Any) -> str:
        return f"∂ₜ{printer._print(self.args[0])}"

    def _pretty(self, printer: Any) -> prettyForm:
        return prettyForm(*prettyForm("∂ₜ").right(printer._print(self.args[0])))


class Mean(sp.Expr):
    """The mean of all entries of a matrix, a scalar."""

    def __new__(cls, matrix: sp.MatrixExpr) -> Mean:
        return sp.Expr.__new__(cls, matrix)

    def _latex(self, printer: Any) -> str:
        return rf"\operatorname{{mean}}\left({printer._print(self.args[0])}\right)"

    def _pretty(self, printer: Any) -> prettyForm:
        return _call_pretty("mean", self.args[0], printer)


class SecondMomentOfACG(sp.MatrixExpr):
    """M(Σ) = E[yyᵀ/|y|²] for y ~ N(0, Σ): the second moment of an angular central Gaussian law.

    It does not depend on the scale of Σ, its trace is 1, and M(O Σ Oᵀ) = O M(Σ) Oᵀ for orthogonal O. Its eigenvalues
    are the integrals that the derivation of the reduction states.

    >>> SecondMomentOfACG(sp.MatrixSymbol("Sigma", d, d))
    M(Sigma)
    """

    def __new__(cls, covariance: sp.MatrixExpr) -> SecondMomentOfACG:
        return sp.Basic.__new__(cls, covariance)

    @property
    def shape(self) -> tuple[sp.Expr, sp.Expr]:
        return self.args[0].shape

    def _latex(self, printer: Any) -> str:
        return rf"M\left({printer._print(self.args[0])}\right)"

    def _sympystr(self, printer: Any) -> str:
        return f"M({printer._print(self.args[0])})"

    def _pretty(self, printer: Any) -> prettyForm:
        return prettyForm(*prettyForm("M").right(prettyForm(*printer._print(self.args[0]).parens())))


class PolynomialValue(sp.Expr):
    """Σ_k c_k x^k over the entries c_0, c_1, … of a column, a scalar.

    >>> PolynomialValue(sp.MatrixSymbol("c", n, 1), sp.Symbol("x"))
    poly(c, x)
    """

    def __new__(cls, coefficients: sp.MatrixExpr, at: sp.Expr) -> PolynomialValue:
        return sp.Expr.__new__(cls, coefficients, at)

    def _latex(self, printer: Any) -> str:
        coefficients, at = (printer._print(arg) for arg in self.args)
        return rf"\operatorname{{poly}}\left({coefficients}; {at}\right)"

    def _sympystr(self, printer: Any) -> str:
        coefficients, at = (printer._print(arg) for arg in self.args)
        return f"poly({coefficients}, {at})"

    def _pretty(self, printer: Any) -> prettyForm:
        coefficients, at = (printer._print(arg) for arg in self.args)
        arguments = prettyForm(*prettyForm(*coefficients.right("; ")).right(at))
        return prettyForm(*prettyForm("poly").right(prettyForm(*arguments.parens())))


for scalar in (Inner, Average, LogMGF, TimeDerivative, Mean, PolynomialValue):
    scalar.is_commutative = True
for integral in (Average, VectorAverage, HeadSum):
    # Bind like a sum, so that printers put an integral inside a product in parentheses.
    integral.precedence = PRECEDENCE["Add"]


def rate(symbol: sp.Symbol | sp.MatrixSymbol) -> sp.Symbol | sp.MatrixSymbol:
    """The symbol of the time derivative: `Sigma` gives `Sigmadot`, which SymPy prints with a dot.

    >>> rate(sp.Symbol("R"))
    Rdot
    """
    if isinstance(symbol, sp.Symbol):
        return sp.Symbol(symbol.name + "dot", **symbol.assumptions0)
    return sp.MatrixSymbol(symbol.name + "dot", *symbol.shape)


def conjugate_parts(expression: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Real and imaginary part as (e + ē)/2 and (e − ē)/2i, expanded: polynomials in symbols and conjugates.

    >>> z = sp.Symbol("z", complex=True)
    >>> conjugate_parts(z)[0]
    z/2 + conjugate(z)/2
    """
    mirrored = sp.expand(sp.conjugate(expression))
    return sp.expand((expression + mirrored) / 2), sp.expand((expression - mirrored) / (2 * sp.I))


def without_parts(expression: sp.Expr) -> sp.Expr:
    """Write re(e), im(e) and |e| through e and its conjugate."""
    expression = expression.replace(sp.Abs, lambda e: sp.sqrt(e * sp.conjugate(e)))
    expression = expression.replace(sp.re, lambda e: conjugate_parts(e)[0])
    return expression.replace(sp.im, lambda e: conjugate_parts(e)[1])


def _integral_latex(args: tuple[sp.Basic, ...], printer: Any) -> str:
    integrand, variable, law = (printer._print(arg) for arg in args)
    return rf"\int {integrand} \,\mathrm{{d}}{law}\left({variable}\right)"


def _integral_text(args: tuple[sp.Basic, ...], printer: Any) -> str:
    integrand, variable, law = (printer._print(arg) for arg in args)
    return f"∫ {integrand} d{law}({variable})"


def _integral_pretty(args: tuple[sp.Basic, ...], printer: Any) -> prettyForm:
    integrand, variable, law = (printer._print(arg) for arg in args)
    measure = prettyForm(*prettyForm(" d").right(law))
    measure = prettyForm(*measure.right(prettyForm(*variable.parens())))
    return prettyForm(*prettyForm(*prettyForm("∫ ").right(integrand)).right(measure), binding=prettyForm.MUL)


def _generating_latex(name: str, args: tuple[sp.Basic, ...], printer: Any) -> str:
    at, *curvature = (printer._print(arg) for arg in args)
    index = f"_{{{curvature[0]}}}" if curvature else ""
    return rf"{name}{index}\left({at}\right)"


def _generating_text(name: str, args: tuple[sp.Basic, ...], printer: Any) -> str:
    at, *curvature = (str(printer._print(arg)) for arg in args)
    index = f"[{curvature[0]}]" if curvature else ""
    return f"{name}{index}({at})"


def _call_pretty(name: str, argument: sp.Basic, printer: Any) -> prettyForm:
    return prettyForm(*prettyForm(name).right(prettyForm(*printer._print(argument).parens())))
