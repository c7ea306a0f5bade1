"""Tables of the page, by what they tell."""
