// Draws the reference from the server's own OpenAPI document. Requests go to the address of this page, which may differ from
// the one in the document.
import './renderer.js';

const LIGHT = { page: '#ffffff', side: '#f3f4f6', ink: '#111827', accent: '#1d4ed8' };
const DARK = { page: '#0f1521', side: '#1a2130', ink: '#f3f4f6', accent: '#8ab4ff' };

const { page, side, ink, accent } = matchMedia('(prefers-color-scheme: dark)').matches ? DARK : LIGHT;
const reference = document.createElement('openapi-explorer');
const attributes = {
  'hide-server-selection': 'true',
  'use-path-in-nav-bar': 'true',
  'display-nulls': 'true',
  'primary-color': accent,
  'secondary-color': accent,
  'bg-color': page,
  'text-color': ink,
  'nav-bg-color': side,
  'nav-text-color': ink,
  'nav-hover-bg-color': page,
  'nav-hover-text-color': ink,
};
for (const [name, value] of Object.entries(attributes)) reference.setAttribute(name, value);
document.body.append(reference);

const base = new URL('.', location.href).href.replace(/\/$/, '');
const spec = await (await fetch('openapi.json')).json();
spec.servers = [{ url: base }];
for (const item of Object.values(spec.paths)) {
  if (item.servers !== undefined) item.servers = [{ url: base.replace(/\/[^/]*$/, '') }];
}
await reference.loadSpec(spec);
