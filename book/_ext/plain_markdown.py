"""The text of a page as plain Markdown, which reads alike in any notebook.

Roles become the words, numbers and links that they stand for; directives become paragraphs,
formulas and folded details.
"""

import re
from pathlib import Path

from myst_nb.core.variables import format_plain_text
from myst_nb.ext.glue.crossref import read_glue_cache

DIRECTIVE = re.compile(
    r"^(?P<fence>`{3,}|:{3,})\{(?P<kind>[\w:-]+)\}[ ]*(?P<title>[^\n]*)\n"
    r"(?P<options>(?::[\w-]+:[^\n]*\n)*)(?P<body>.*?)^(?P=fence)[ ]*(?:\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
ROLE = re.compile(r"\{([a-z:]+)\}`([^`]+)`")
SIGNS = [(r"`([^`]+)`", r"<code>\1</code>"), (r"\*([^*]+)\*", r"<em>\1</em>")]


class PlainMarkdown:
    """Turn the MyST of one page into Markdown; `files` names the notebooks of other pages."""

    def __init__(self, app, page, works, files):
        self.env, self.config, self.page = app.env, app.config, page
        self.works, self.files = works, files
        self.glued = read_glue_cache(str(Path(app.outdir).parent / "jupyter_execute"), page)

    def __call__(self, text):
        """Return `text` without directives and roles, and its title with the chapter's number."""
        text = re.sub(r"^\([\w-]+\)=\n", "", text, flags=re.MULTILINE)
        text = re.sub(r'<a href="\.\./.*?>(.*?)</a>', r"\1", text)  # the files of the site
        if chapter := self.env.toc_secnumbers.get(self.page, {}).get(""):
            text = re.sub(r"^# ", f"# {chapter[0]}. ", text)
        return ROLE.sub(self.role, self.directives(text)).strip()

    def directives(self, text):
        return DIRECTIVE.sub(self.directive, text)

    def directive(self, match):
        kind, title = match["kind"].rpartition(":")[2], match["title"].strip()
        options = dict(re.findall(r"^:([\w-]+): *(.*)$", match["options"], re.MULTILINE))
        body, label = self.directives(match["body"]).strip(), options.get("label")
        if kind == "math":
            tag = rf" \tag{{{self.equation(label)}}}" if label else ""
            return f"$$\n{body}{tag}\n$$\n"
        if kind == "exercise-start":
            return f"#### {self.numbered(label)}\n\n"
        if kind in ("exercise-end", "solution-end", "raw"):
            return ""
        if kind == "solution-start":
            return "**Solution.** "
        if kind == "literalinclude":
            return f"*(See `{title}`.)*\n"
        if kind == "explorer":
            return f"*(On the site there is an explorer here: {options.get('title', title)})*\n"
        if kind == "container":  # a note in the margin
            return "".join(f"> {line}\n" for line in body.splitlines())
        if kind == "grid":
            return f"{body}\n"
        if kind == "grid-item-card":
            return f"**{self.linked(title, options.get('link'))}.** {body}\n"
        if kind == "dropdown" or "dropdown" in options.get("class", ""):
            for sign, tags in SIGNS:  # no Markdown is read inside of HTML
                title = re.sub(sign, tags, title)
            return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>\n"
        name = self.numbered(label) or ("" if kind == "admonition" else kind.capitalize())
        heading = f"{name} ({title})" if name and title else name or title
        return f"**{heading}.** {body}\n"

    def role(self, match):
        kind, text = match.groups()
        words, _, label = text.rstrip(">").rpartition("<") if text.endswith(">") else ("", "", text)
        if kind == "glue:text":
            key, _, form = text.partition(":")
            return format_plain_text(self.glued[key]["data"]["text/plain"], form)
        if kind == "results":
            return f"`results/{text}.csv`"
        if kind == "eq":
            return self.linked(f"({self.equation(text)})", text)
        if kind.startswith("cite"):
            keys = re.findall(r"(?:\{(.*?)\})?(\w+)(?:\{(.*?)\})?", text)
            works = [self.work(kind, *key) for key in keys]
            return " and ".join(works) if kind == "cite:t" else f"({'; '.join(works)})"
        named = words.strip() or self.numbered(label)
        return self.linked(named or self.title(label) or label, label, italic=not named)

    def linked(self, words, label, italic=False):
        """Return `words`, with a link if `label` is on a page that has another notebook."""
        labels, equations = (self.env.domaindata["std"], self.env.domaindata["math"]["objects"])
        page = (labels["anonlabels"].get(label) or equations.get(label) or ("",))[0]
        if page != self.page and page in self.files:
            return f"[{words}]({self.files[page]})"
        return f"*{words}*" if italic else words

    def equation(self, label):
        """Return the number of an equation, which begins with its chapter's."""
        page, number = self.env.domaindata["math"]["objects"][label]
        numbers = self.env.toc_fignumbers.get(page, {}).get("displaymath", {})
        return ".".join(map(str, numbers.get(f"equation-{label}", (number,))))

    def work(self, kind, before, key, after):
        authors = self.works[key].persons.get("author", [])
        names = [" ".join(author.last_names) for author in authors]
        names = names or [re.sub("[{}]", "", self.works[key].fields["title"])]
        who = f"{names[0]} et al." if len(names) > 2 else " and ".join(names)
        who = " ".join(filter(None, [before, who]))
        where = ", ".join(filter(None, [self.works[key].fields.get("year"), after]))
        if kind != "cite:t":
            return ", ".join(filter(None, [who, where]))
        return f"{who} ({where})" if where else who

    def title(self, label):
        return self.env.domaindata["std"]["labels"].get(label, ("", "", ""))[2]

    def numbered(self, label):
        """Return the kind and the number of a figure, a theorem or an exercise, as on its page."""
        for kinds in self.env.toc_fignumbers.values():
            for kind, numbers in kinds.items():
                if label in numbers:
                    named = self.config.numfig_format.get(kind, f"{kind} %s")
                    return (named % ".".join(map(str, numbers[label]))).capitalize()
        return ""
