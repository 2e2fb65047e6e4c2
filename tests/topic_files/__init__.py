"""Topic pages as files, tested on a real store and a real folder."""
