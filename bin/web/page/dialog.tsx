/** What the page asks a person before it acts, and what came of it. */
import { useLayoutEffect, useRef } from "preact/hooks";

/** What a person wrote before, and why it was refused: it is not lost. */
export interface Refusal {
  readonly text: string;
  readonly refusal: string;
}

export type DialogState =
  | null
  | { readonly kind: "ask"; readonly question: string; readonly yes: () => void }
  | {
      readonly kind: "write";
      readonly question: string;
      readonly yes: (text: string) => void;
      readonly before?: Refusal;
    }
  | { readonly kind: "said"; readonly title: string; readonly text: string };

export function Dialog({ state, close }: { readonly state: DialogState; readonly close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    if (state !== null && dialog.current?.open === false) dialog.current.showModal();
    if (state === null) dialog.current?.close();
  }, [state]);
  // A dialog's end is told later: the next one may be open by then.
  const ended = () => {
    if (dialog.current?.open === false) close();
  };
  if (state === null) return <dialog ref={dialog} />;
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={ended}>
      <h2 id="dialog-title">{state.kind === "said" ? state.title : state.question}</h2>
      {state.kind === "said" ? <pre>{state.text}</pre> : null}
      {state.kind === "write" && state.before !== undefined ? (
        <pre>Refused: {state.before.refusal}</pre>
      ) : null}
      {state.kind === "write" ? (
        <textarea
          ref={field}
          rows={4}
          aria-labelledby="dialog-title"
          defaultValue={state.before?.text ?? ""}
        />
      ) : null}
      <div class="buttons">
        {state.kind === "said" ? null : (
          <button
            type="button"
            onClick={() => {
              if (state.kind === "ask") state.yes();
              else state.yes(field.current?.value ?? "");
            }}
          >
            {state.kind === "ask" ? "Yes" : "Send"}
          </button>
        )}
        <button type="button" onClick={close}>
          {state.kind === "said" ? "Close" : "No"}
        </button>
      </div>
    </dialog>
  );
}
