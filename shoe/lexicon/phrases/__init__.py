"""Free text to verbs and objects: "a man is riding a brown horse" is riding, brown horse."""
