/** The script of `kite demo`. */
import { setTimeout as pause } from "node:timers/promises";
import type { Act, Played, Stash } from "./acts.ts";
import { DemoSession, type Stage } from "./session.ts";

/** The demo's `yieldMs`, short because people watch. */
export const demoYieldMs = 4_000;
/** Pause in milliseconds in which people read a caption and what follows from it. */
const beatMs = 900;

/** The files that the demo's sessions edit. */
export const demoFiles = ["cart.ts", "price.ts"] as const;

const names = ["ada", "ben", "cleo", "dan"] as const;

/** What the play needs of the one who shows it. */
export interface Show {
  /** Prints what comes next. */
  readonly caption: (text: string) => void;
  /** Prints what the play itself saw. */
  readonly tell: (text: string) => void;
  /** Resolves when the session is in the queue of a file, and all events until then are on the screen. */
  readonly queued: (who: string) => Promise<void>;
  /** Resolves when all events of what has happened are on the screen. */
  readonly heard: () => Promise<void>;
}

/**
 * Plays four sessions over two files: one waits for another's turn to end, one gets a lock that its holder no longer
 * uses, one is killed and its lock is granted to a waiter, and one would stash the work of all. A caption comes before what
 * it tells of, and all that happens then is on the screen before the next caption.
 */
export async function play(stage: Stage, { caption, tell, queued, heard }: Show): Promise<Played> {
  const [ada, ben, cleo, dan] = names.map(name => new DemoSession(stage, name)) as [
    DemoSession,
    DemoSession,
    DemoSession,
    DemoSession,
  ];
  const all = [ada, ben, cleo, dan];
  const acts: Promise<Act>[] = [];
  const edit = (who: DemoSession, file: (typeof demoFiles)[number]): Promise<Act> => {
    const act = who.edit(file);
    acts.push(act);
    return act;
  };
  /** The edit waits for another session: it is in the queue when this resolves, or was answered at once. */
  const editBehind = async (who: DemoSession, file: (typeof demoFiles)[number]): Promise<Promise<Act>[]> => {
    const act = edit(who, file);
    await Promise.race([queued(who.name), act]);
    return [act];
  };
  const step = async (text: string, work: () => Promise<unknown>): Promise<void> => {
    caption(text);
    await pause(beatMs);
    await work();
    await heard();
  };
  try {
    await step("Four sessions begin a turn in one checkout: ada, ben, cleo and dan.", async () => {
      await Promise.all(all.map(session => session.begin()));
      await Promise.all(all.map(session => session.prompt()));
    });

    await step("ada edits cart.ts.", () => edit(ada, "cart.ts"));
    let waiting: readonly Promise<Act>[] = [];
    await step("ben wants to edit it, too. His edit waits while ada's turn lasts.", async () => {
      waiting = await editBehind(ben, "cart.ts");
    });
    await step("ada edits cart.ts once more.", () => edit(ada, "cart.ts"));
    await step("ada's turn ends.", async () => {
      await ada.stop();
      await Promise.all(waiting);
    });

    await step("cleo edits price.ts, and goes on with other work in the same turn.", () =>
      edit(cleo, "price.ts"),
    );
    const left = `${demoYieldMs / 1000} s after cleo's last edit of it`;
    await step(`dan wants to edit it. Kite lets him, in the middle of cleo's turn, ${left}.`, () =>
      edit(dan, "price.ts"),
    );

    await step("ben edits cart.ts again, and ada waits for it.", async () => {
      await edit(ben, "cart.ts");
      await ada.prompt();
      waiting = await editBehind(ada, "cart.ts");
    });
    await step("Somebody kills ben's process in the middle of his turn.", async () => {
      await ben.kill();
      await Promise.all(waiting);
    });

    let stash: Stash = { who: cleo.name, allowed: true };
    await step(
      "cleo wants to put her work aside: git stash, in the checkout that all four share.",
      async () => {
        stash = await cleo.stash();
        tell(
          stash.allowed
            ? "stashed   everything in the checkout, by cleo"
            : "denied    git stash of cleo: others have uncommitted work there",
        );
      },
    );

    await step("The others end.", async () => {
      await Promise.all([ada, cleo, dan].map(session => session.stop()));
      await Promise.all([ada, cleo, dan].map(session => session.end()));
    });
    return { acts: await Promise.all(acts), stash };
  } finally {
    await Promise.all(all.map(session => session.kill()));
    // A play that failed says why; the edits that were under way then have nothing to add.
    await Promise.allSettled(acts);
  }
}
