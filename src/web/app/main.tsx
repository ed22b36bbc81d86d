import { render } from 'preact';
import { App } from './app.tsx';
import { createApi } from './state/api.ts';
import { applyAppearance, readAppearance } from './state/appearance.ts';
import { readBase } from './state/router.tsx';
import '@fontsource-variable/inter/wght.css';
import './styles/tokens.css';
import './styles/base.css';
import './styles/frame.css';
import './styles/components.css';

const root = document.getElementById('app');
if (root === null) throw new Error('the page has no element #app');
applyAppearance(document.documentElement, readAppearance(localStorage));
const api = createApi(readBase(document));
root.replaceChildren();
render(<App api={api} />, root);
