"""The source designs with their original classes and methods. To migrate, change an import.

Each module wraps the engine, opened with the preset of the same name.
"""
