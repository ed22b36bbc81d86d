import type { ComponentChildren, JSX, RefObject } from 'preact';

interface DialogProps {
  readonly of: RefObject<HTMLDialogElement | null>;
  readonly title: string;
  readonly onClose?: () => void;
  readonly children: ComponentChildren;
}

/** A modal dialog. The caller opens it with `showModal()`. */
export function Dialog({ of, title, onClose, children }: DialogProps): JSX.Element {
  return (
    <dialog ref={of} class="dialog" aria-label={title} onClose={onClose}>
      <div class="panel-head">
        <h2>{title}</h2>
        <button type="button" onClick={() => of.current?.close()}>
          Close
        </button>
      </div>
      {children}
    </dialog>
  );
}
