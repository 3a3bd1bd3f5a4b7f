"""Networks and recordings in the forms of other libraries."""
