"""What stands where no model may write: what a message is, what is kept and quoted, wordings."""
