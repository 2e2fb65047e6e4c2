"""The source designs under their own names: who used one of them changes an import.

Each module has the classes and methods of its design as thin covers over the engine, with the preset of that name.
"""
