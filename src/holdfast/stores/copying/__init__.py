"""Copy a whole store, with all tenants, to another store. Source and target can each be SQLite or PostgreSQL.

``copy_store(open_side(SOURCE), open_side(TARGET, new=True))`` starts a copy, resumes an interrupted copy, or verifies a
finished copy.
"""

from holdfast.stores.copying.copy import copy_store, tables_of
from holdfast.stores.copying.digest import Digest
from holdfast.stores.copying.places import open_side
from holdfast.stores.copying.report import CopiedTable, CopyReport
from holdfast.stores.copying.side import Side
from holdfast.stores.copying.tables import COPIED, LEFT_OUT

__all__ = ["COPIED", "LEFT_OUT", "CopiedTable", "CopyReport", "Digest", "Side", "copy_store", "open_side", "tables_of"]
