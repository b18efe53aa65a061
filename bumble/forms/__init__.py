"""Fixed forms by language: how quotes, dates, titles and replies are worded without a model."""
