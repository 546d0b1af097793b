def total_price(items):
    return round(sum(items), 2)
