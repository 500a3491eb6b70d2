"""Building of compiled lexicons from other wordnets, ontologies and tables of words."""
