"""Replies of vision-language models: interactions in free text, with two boxes each.

The input is JSON, JSON Lines, or a reply inside the output of a tool, such as an API response. :mod:`replies` finds the
answer in a record and the data in its text, :mod:`items` finds interactions in data, :mod:`prose` and :mod:`box_marks`
find interactions and boxes in sentences, and :mod:`words` splits phrases with the lexicon.
"""
