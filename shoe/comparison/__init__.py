"""Many runs beside each other: how sure a figure is, whether a difference is real, and whether rankings agree."""
