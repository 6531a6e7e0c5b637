"""The format explorer: a page on which a format is typed, a small matrix edited, and storage, pictures, bytes and generated
code are watched. Everything on it is computed by the library; the page only shows.

    matrices.py   small matrices: presets, and what a page sends
    answer.py     what a page asks for, as plain data
    server.py     the page and its answers, for this machine alone
    record.py     the page as a file, with answers computed beforehand
    page.py       one HTML file of page.html, page.css and page.js
    run.py        strata explore
"""
