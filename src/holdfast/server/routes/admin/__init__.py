"""Routes for administrators: settings, models, health, backups, imports, the first start, and several memories at once."""
