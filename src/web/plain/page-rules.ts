/** The CSS rules that every page without the data pages' styles begins with: the colours for light and dark, and the text. */
export const PAGE_RULES = `:root{color-scheme:light dark;--ink:#111827;--grid:#e5e7eb;--surface:#ffffff;--page:#f3f4f6;--accent:#1d4ed8}
@media (prefers-color-scheme:dark){:root{--ink:#f3f4f6;--grid:#374151;--surface:#1a2130;--page:#0f1521;--accent:#8ab4ff}}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}`;
