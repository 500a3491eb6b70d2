"""Parser of free text: the verb and object of "a man is riding a brown horse" are "riding" and "brown horse"."""
