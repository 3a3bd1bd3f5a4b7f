"""How sure is each link: found again, how strong, shared by subjects, different between recordings, over time."""
