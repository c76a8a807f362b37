/** Makes the view of a container from what its client says, after a look at this machine whether that is so. */
import { readFileSync, readlinkSync } from "node:fs";
import { type Refusal, refuse } from "../../../protocol/codes.ts";
import { limits } from "../../../protocol/limits.ts";
import type { Mounts } from "../../../protocol/schemas/hook.ts";
import { quote } from "../../../protocol/text.ts";
import { BoundedMap } from "../../bounded-map.ts";
import type { BudgetedFs } from "../filesystem.ts";
import { readPairs } from "./read.ts";
import { type MountRow, MountTable } from "./table.ts";
import { type MountPair, MountView } from "./view.ts";

/** This process's own place, as `Mounts` has that of a client. */
export interface OwnMounts {
  namespaces(): string;
  table(): string;
}

const ownMounts: OwnMounts = {
  namespaces: namespacesHere,
  table: () => readHere("/proc/self/mountinfo"),
};

/** This process's namespaces, as clients name theirs; empty where the system has none. */
export function namespacesHere(): string {
  try {
    return ["mnt", "pid"].map(name => readlinkSync(`/proc/self/ns/${name}`)).join(" ");
  } catch {
    // Not Linux: no client can be in another one.
    return "";
  }
}

export class MountViews {
  readonly #outside: BudgetedFs;
  readonly #own: OwnMounts;
  readonly #views = new BoundedMap<string, Promise<MountView | Refusal>>({
    entriesMax: limits.mountViewsMax,
  });
  readonly #pairs = new BoundedMap<string, readonly MountPair[]>({ entriesMax: limits.mountViewsMax });
  #table = new MountTable("");
  #text = "";
  #until = Number.NEGATIVE_INFINITY;

  constructor(outside: BudgetedFs, own: OwnMounts = ownMounts) {
    this.#outside = outside;
    this.#own = own;
  }

  /**
   * Returns the view of a client; null if it is in no other mount namespace. Refuses (`mounts_unclear`) what does not fit
   * this machine, with what to do.
   */
  async of(mounts: Mounts | undefined): Promise<MountView | null | Refusal> {
    if (mounts === undefined || mounts.namespaces === this.#own.namespaces()) return null;
    this.#readTable();
    const key = JSON.stringify(mounts);
    const kept = this.#views.get(key);
    if (kept !== undefined) return kept;
    const made = this.#make(mounts);
    this.#views.set(key, made);
    const view = await made;
    // Whoever corrects what is wrong need not wait.
    if (!(view instanceof MountView)) this.#views.delete(key);
    else this.#pairs.set(view.name, view.mounted());
    return view;
  }

  /** The folders of the containers that were seen lately. */
  *pairs(): Iterable<MountPair> {
    for (const pairs of this.#pairs.values()) yield* pairs;
  }

  async #make(mounts: Mounts): Promise<MountView | Refusal> {
    const name = /^mnt:\[(\d+)\]/.exec(mounts.namespaces)?.[1];
    if (name === undefined) return unclear(`the namespaces ${quote(mounts.namespaces)} have another form`);
    const pairs = readPairs(mounts.pairs ?? "");
    if ("wrong" in pairs) return unclear(`KITE_MOUNTS: ${pairs.wrong}`);
    const inside = mounts.table === "" ? null : new MountTable(mounts.table);
    const outside = this.#table;
    const hidden = new Set<MountRow>();
    for (const row of inside?.rows ?? []) {
      const path = outside.pathsOf({ device: row.device, path: row.root })[0];
      if (path === undefined || (await this.#idOf(path)) === null) hidden.add(row);
    }
    const hidesProcesses = pidOf(mounts.namespaces) !== pidOf(this.#own.namespaces());
    const view = new MountView({ name, inside, hidden, outside, pairs, hidesProcesses });
    return (await this.#misfit(view, mounts, pairs)) ?? view;
  }

  /** Compares what the client sees with what this machine has under the same names. */
  async #misfit(view: MountView, { seen }: Mounts, pairs: readonly MountPair[]): Promise<Refusal | null> {
    for (const { inside, outside } of pairs) {
      const there = seen[inside];
      if (there === undefined)
        return unclear(`KITE_MOUNTS names ${quote(inside)}, which does not exist in the container`);
      const here = await this.#idOf(outside);
      if (here === null)
        return unclear(`KITE_MOUNTS names ${quote(outside)}, which the daemon does not find on its machine`);
      if (here !== there)
        return unclear(`${quote(inside)} in the container is not ${quote(outside)} of this machine`);
    }
    for (const [inside, there] of Object.entries(seen).slice(0, limits.mountPairsMax + 1)) {
      const outside = view.inward(inside);
      if (view.isPrivate(outside) || inside.endsWith(" (deleted)")) continue;
      const here = await this.#idOf(outside);
      if (here !== there)
        return unclear(`${quote(inside)} in the container is not ${quote(outside)} of this machine`);
    }
    return null;
  }

  /** Device and inode; null if there is nothing, or nothing that this user may see. */
  async #idOf(path: string): Promise<string | null> {
    const found = await this.#outside.fact(budget =>
      this.#outside.look(path, null, budget, async (prober, p) => prober.lstat(await prober.realpath(p))),
    );
    return found === null || "unreachable" in found ? null : `${found.dev}:${found.ino}`;
  }

  #readTable(): void {
    const now = this.#outside.now();
    if (now < this.#until) return;
    this.#until = now + limits.mountTableKeptMs;
    const text = this.#own.table();
    if (text === this.#text) return;
    this.#text = text;
    this.#table = new MountTable(text);
    this.#views.forgetWhile(() => true);
  }
}

function pidOf(namespaces: string): string {
  return namespaces.split(" ")[1] ?? "";
}

function readHere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Without a table of its own the daemon knows no mount: what the container has stays its own.
    return "";
  }
}

function unclear(what: string): Refusal {
  const todo = "correct KITE_MOUNTS, or leave it out: then the container's own table counts";
  return refuse("mounts_unclear", `${what}; ${todo}. Until then nothing here is coordinated`);
}
