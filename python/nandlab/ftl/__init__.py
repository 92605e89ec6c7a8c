"""FTLs as Python sees them: what each needs of a drive."""
