"""The steps of an ingest, one module an asset; each opens what it needs, does one thing and reports numbers."""
