"""Kernels written by `numeric.regenerate_kernels` from derived reductions, one file each; never edited by hand."""
