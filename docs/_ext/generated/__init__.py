"""Parts of pages that are made from the library as it is: each function gives Markdown, for the words behind its name in the
page, if any. `texts` names them all.

What stands here by hand (when to use a format, what a variable is for) is checked against the library by
tests/python/test_site.py: nothing is missing, nothing is left over.
"""

from . import commands, environment, errors, explorer, formats, functions, headers, levels, project

texts = {
    "array_functions": functions.array_functions_text,
    "commands": commands.text,
    "environment": environment.text,
    "errors": errors.text,
    "explorer": explorer.text,
    "formats": formats.text,
    "format_bytes": formats.bytes_text,
    "headers": headers.text,
    "levels": levels.text,
    "other_ufuncs": functions.other_ufuncs_text,
    "project": project.text,
    "ufuncs": functions.ufuncs_text,
}
