"""The page of a life: what an entity remembers, for a browser, as one reader may know it."""
