/** Says on standard error which check runs; on a terminal where the output is not shown, for how long already. */
import type { Check } from "../../../daemon/lead/settings.ts";
import { visible } from "../../../protocol/text.ts";
import type { ProcessContext } from "../../process-context.ts";
import { cut, duration } from "../../view/text.ts";

export class Progress {
  readonly #world: ProcessContext;
  readonly #count: number;
  readonly #isSilent: boolean;
  readonly #isLive: boolean;
  #begun = 0;
  #stop: (() => void) | null = null;

  constructor(
    world: ProcessContext,
    count: number,
    { quiet = false, json = false }: { readonly quiet?: boolean; readonly json?: boolean },
  ) {
    this.#world = world;
    this.#count = count;
    this.#isSilent = json;
    this.#isLive = quiet && world.stderr.isTTY === true;
  }

  begin({ name, command }: Check): void {
    if (this.#isSilent) return;
    this.#begun += 1;
    const { stderr, now, every } = this.#world;
    const what = `${name} (${this.#begun} of ${this.#count}): ${visible(command)}`;
    if (!this.#isLive) {
      stderr.write(`kite: ${what}\n`);
      return;
    }
    const since = now();
    const show = () =>
      void stderr.write(`\r\u001b[K${cut(`${duration(now() - since)} ${what}`, stderr.columns ?? 80)}`);
    show();
    this.#stop = every(1000, show);
  }

  /** Ends the line of the check that ran. */
  end(): void {
    if (this.#stop === null) return;
    this.#stop();
    this.#stop = null;
    this.#world.stderr.write("\r\u001b[K");
  }
}
