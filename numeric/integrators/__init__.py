"""Integrators, one a file.

An integrator is a generator: it yields the `Piece`s of the solution one step after another, then the `Outcome`.
`events.follow` consumes it, locates events on the pieces, and stops it where a terminal event asks for that.
"""
