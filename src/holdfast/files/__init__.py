"""Topics as files that people can read and edit: see :class:`TopicFiles`."""

from holdfast.files.pages import TopicPage, TopicPages
from holdfast.files.shelves import Shelves
from holdfast.files.topic_files import Question, SyncReport, TopicFiles

__all__ = ["Question", "Shelves", "SyncReport", "TopicFiles", "TopicPage", "TopicPages"]
