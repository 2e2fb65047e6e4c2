"""Mirror topics to Markdown files that people can read and edit. Start with :class:`TopicFiles`."""

from holdfast.topic_files.mirrors import FolderMirrors
from holdfast.topic_files.sync import FileQuestion, SyncReport, TopicFiles
from holdfast.topic_files.topic_pages import TopicPage, TopicPages

__all__ = ["FileQuestion", "FolderMirrors", "SyncReport", "TopicFiles", "TopicPage", "TopicPages"]
