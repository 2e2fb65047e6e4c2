"""The interfaces of the memory designs that Holdfast's presets are based on, with their original classes and methods.

A program written for one of these designs only has to change an import. Each module wraps an engine that is opened with
the preset of the same name.
"""
