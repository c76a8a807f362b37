/** What is known of an agent client besides the form of its events: a value of its folder. */

/** How far a client's hooks reach in time, and what they tell of who acts. */
export interface ClientLimits {
  /** The longest wait of an edit for its lock, in ms. A shorter wait of the user's settings holds. */
  readonly lockWaitMaxMs: number;
  /** Both events around a call have its id. False: an end is that of the latest call with the same tool and input. */
  readonly namesCalls: boolean;
  /**
   * How long after its allow such a write may still land whose end the client never tells, in ms: `yieldMs` later its lock
   * yields, and the next prompt ends it. Null: the client tells the end of each write, or of its turn.
   */
  readonly untoldWriteMs: number | null;
  /** The same for a patch that a shell line applies. */
  readonly untoldPatchMs: number | null;
  /** A prompt that names no turn shows that the turn before is over. False: it tells nothing about turns. */
  readonly promptsEndTurns: boolean;
  /**
   * Without a turn for this long, in ms, a session counts as lost: its hooks' parent may run many sessions and outlive them.
   * Null: its process or an event ends it.
   */
  readonly idleEndMs: number | null;
  /**
   * The client tells no end of the session that `/clear` ends, and the next one of the same process goes on with it; one of
   * these words in the command line of that process shows that it runs many sessions, so that nobody can tell which one.
   * Null: the client tells the end.
   */
  readonly clearGoesOnUnless: readonly string[] | null;
  /** Events name the subagent that acts. False: all agents of a session share their locks. */
  readonly tellsSubagents: boolean;
  /** It refuses to write over a change that its agent has not read. False: the daemon does, where the whole file is replaced. */
  readonly refusesStaleWrites: boolean;
  /** It asks about all calls of a message before the first of them runs. */
  readonly asksAllFirst: boolean;
}

/** What plans and their words need to know of a client. */
export interface ClientWords {
  /** The name of its tool that runs a shell line. */
  readonly shellTool: string;
  /** Variables of its shells that often say where a command runs. */
  readonly placeVariables: readonly string[];
  /** Variables by which `kite` knows that an agent of the client runs it. */
  readonly agentVariables: readonly string[];
}

export interface AgentClient {
  /** Its name in installed entries, on the wire and in lists: `codex`. At most 40 of `a-z` and `-`. */
  readonly name: string;
  /** Its name in sentences: `Codex`. */
  readonly title: string;
  readonly limits: ClientLimits;
  readonly words: ClientWords;
}
