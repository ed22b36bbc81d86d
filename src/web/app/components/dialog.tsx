import type { ComponentChildren, JSX, Ref } from 'preact';

interface DialogProps {
  readonly of: Ref<HTMLDialogElement> & { readonly current: HTMLDialogElement | null };
  readonly title: string;
  readonly onClose?: () => void;
  readonly children: ComponentChildren;
}

/** A window over the page, which `showModal` opens. */
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
