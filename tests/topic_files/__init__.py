"""Topic pages as files: everything on a real store and a real folder."""
