import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  completionKeymap,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { bracketMatching, LanguageSupport, syntaxHighlighting } from '@codemirror/language';
import { EditorState, Prec, StateEffect, StateField } from '@codemirror/state';
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import type { SqlTable } from '../../../../page-data/sql-data.ts';
import { duckdb } from './duckdb-dialect.ts';
import { editorTheme, sqlColours } from './editor-theme.ts';
import { proposeNames } from './name-completion.ts';

/** Actions of the editor's keys and changes. */
export interface EditorHandlers {
  readonly run: () => void;
  /** Cancels the running query; false if there is none. */
  readonly cancel: () => boolean;
  readonly changed: (text: string) => void;
  /** Tables for completion. */
  readonly tables: () => readonly SqlTable[];
}

/** An editor for SQL. */
export interface SqlEditor {
  text(): string;
  /** Replaces the text; undo restores the former one. */
  replace(text: string): void;
  /** Replaces the selection. */
  insert(text: string): void;
  /** Underlines a wrong part, until the text changes. */
  mark(place: { readonly from: number; readonly to: number } | null): void;
  /** Moves the cursor and the focus. */
  moveTo(position: number): void;
  focus(): void;
  close(): void;
}

const setMark = StateEffect.define<{ readonly from: number; readonly to: number } | null>();
const wrong = Decoration.mark({ class: 'cm-wrong' });

const marked = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(decorations, { effects, docChanged, newDoc }) {
    for (const effect of effects) {
      if (!effect.is(setMark)) continue;
      if (effect.value === null) return Decoration.none;
      const { from, to } = effect.value;
      const end = Math.min(Math.max(to, from + 1), newDoc.length);
      return from < end ? Decoration.set(wrong.range(from, end)) : Decoration.none;
    }
    return docChanged ? Decoration.none : decorations;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/**
 * Creates an editor in a shadow root of `host`. There its styles are constructed sheets, which the content security policy permits;
 * in the document they would be inline styles.
 */
export function createSqlEditor(host: HTMLElement, text: string, handlers: EditorHandlers): SqlEditor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({ doc: text, extensions: extensionsOf(handlers) }),
  });
  return {
    text: () => view.state.doc.toString(),
    replace(next) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next }, selection: { anchor: 0 } });
    },
    insert(inserted) {
      view.dispatch(view.state.replaceSelection(inserted));
      view.focus();
    },
    mark: (place) => view.dispatch({ effects: setMark.of(place) }),
    moveTo(position) {
      const anchor = Math.min(position, view.state.doc.length);
      view.dispatch({ selection: { anchor }, scrollIntoView: true });
      view.focus();
    },
    focus: () => view.focus(),
    close: () => view.destroy(),
  };
}

function extensionsOf(handlers: EditorHandlers) {
  const names = duckdb.language.data.of({
    autocomplete: ({ state, pos, explicit }: { state: EditorState; pos: number; explicit: boolean }) => {
      const found = proposeNames(state.doc.toString(), pos, handlers.tables(), explicit);
      return found === null ? null : { ...found, validFor: /^"?\w*$/ };
    },
  });
  const run = (view: EditorView): boolean => {
    closeCompletion(view);
    handlers.run();
    return true;
  };
  const keys = [
    { key: 'Mod-Enter', run },
    { key: 'Escape', run: () => handlers.cancel() },
    // Tab indents, until Escape is pressed: then it moves the focus, until the editor is left.
    {
      any: (view: EditorView, event: KeyboardEvent) => {
        if (event.key === 'Escape') view.setTabFocusMode(true);
        return false;
      },
    },
  ];
  return [
    Prec.highest(keymap.of(keys)),
    lineNumbers(),
    highlightActiveLineGutter(),
    history(),
    drawSelection(),
    bracketMatching(),
    closeBrackets(),
    autocompletion({ icons: false }),
    new LanguageSupport(duckdb.language, names),
    syntaxHighlighting(sqlColours),
    editorTheme,
    marked,
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ 'aria-label': 'SQL. Tab indents; Escape, then Tab leaves the editor.' }),
    EditorView.domEventHandlers({ beforeinput: replaceSelected, blur: (_, view) => view.setTabFocusMode(false) }),
    EditorView.updateListener.of(({ docChanged, state }) => {
      if (docChanged) handlers.changed(state.doc.toString());
    }),
    keymap.of([...closeBracketsKeymap, ...completionKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab]),
  ];
}

// If Chromium replaced selected text, it would keep its looks with a style attribute, which the policy forbids and reports.
function replaceSelected({ inputType, data }: InputEvent, view: EditorView): boolean {
  const { from, to, empty } = view.state.selection.main;
  if (inputType !== 'insertText' || data === null || empty || view.composing) return false;
  const typed = () =>
    view.state.update(view.state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true });
  const isHandled = view.state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, data, typed));
  if (!isHandled) view.dispatch(typed());
  return true;
}
