"""The memory interface of Lo-Bug: retrieve memories before a reply, extract facts after it.

The embedding model and the chat model are passed as functions.

::

    configure_embeddings("nomic-embed-text")
    db = MemoryDB()
    db.initialize()
    memory = MemoryManager(db=db, embed_fn=embed, chat_fn=chat)
    conversation = ConversationManager(memory_manager=memory)
    conversation.reload_from_db(db)

    conversation.add_message("user", text)
    db.append_message("user", text)
    reply = chat(conversation.build_messages())
    db.append_message("assistant", reply)
    background.add_task(memory.process_exchange, text, reply)

``database`` contains the tables, ``manager`` retrieval and extraction, and ``conversation`` the working memory.
"""

from holdfast.designs.lobug.conversation import ConversationManager
from holdfast.designs.lobug.database import FactRow, MemoryDB
from holdfast.designs.lobug.embeddings import configure_embeddings, embed, embed_batch
from holdfast.designs.lobug.manager import MemoryContext, MemoryManager
from holdfast.designs.lobug.prompts import (
    distill_base_memory_messages,
    fact_extraction_messages,
    summarize_conversation_messages,
)
from holdfast.presets.settings import MemoryConfig

__all__ = [
    "ConversationManager",
    "FactRow",
    "MemoryConfig",
    "MemoryContext",
    "MemoryDB",
    "MemoryManager",
    "configure_embeddings",
    "distill_base_memory_messages",
    "embed",
    "embed_batch",
    "fact_extraction_messages",
    "summarize_conversation_messages",
]
