"""Topics as files that people can read and edit: see :class:`TopicFiles`."""

from holdfast.files.pages import TopicPage, TopicPages
from holdfast.files.shelves import FolderMirrors
from holdfast.files.topic_files import FileQuestion, SyncReport, TopicFiles

__all__ = ["FileQuestion", "FolderMirrors", "SyncReport", "TopicFiles", "TopicPage", "TopicPages"]
