#!/bin/sh
# Create the role and the database of Holdfast. The image of PostgreSQL runs this once, when its data folder is empty.
set -eu
psql --username "${POSTGRES_USER:-postgres}" --dbname postgres --set ON_ERROR_STOP=1 --set password="$POSTGRES_PASSWORD" <<'SQL'
CREATE ROLE holdfast LOGIN PASSWORD :'password';
CREATE DATABASE holdfast OWNER holdfast;
\connect holdfast
CREATE EXTENSION vector;
SQL
