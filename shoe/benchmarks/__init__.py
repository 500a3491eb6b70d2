"""Ground truth and class tables, one file per dataset."""
