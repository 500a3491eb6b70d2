"""Back ends, one file each: who answers questions about pictures.

A back end is a subclass of :class:`~shoe.predict.backend.BackendConfig` whose ``open`` makes it work. Its file imports
nothing heavy when it is loaded: extras are imported where they are used.
"""
