/** The service for a client's own teams: what processes and events say of them, and their files. */
import type { ClientProcess, ClientTeams, ProcessWords } from "../../../hooks/seam/teams.ts";
import { limits } from "../../../protocol/limits.ts";
import { BoundedMap } from "../../bounded-map.ts";
import type { Anchor } from "../../core/frame/actors.ts";
import type { Session } from "../../core/tables/sessions.ts";
import type { BudgetedFs } from "../../facts/filesystem.ts";
import { Claims } from "./claims.ts";
import { TeamLooks } from "./look.ts";

const silent: ClientProcess = { teammate: null, list: null, home: null };

const nobody: ReadonlySet<string> = new Set();

export interface TeamsOptions {
  readonly outside: BudgetedFs;
  /** Null: the daemon knows no agent client. */
  readonly client: ClientTeams | null;
  readonly words: (pid: number) => ProcessWords | null;
}

export class Teams {
  readonly client: ClientTeams | null;
  readonly looks: TeamLooks | null;
  readonly claims = new Claims();
  readonly #words: TeamsOptions["words"];
  /** By session: the client's folder, as the latest event said. */
  readonly #homes = new BoundedMap<string, string>({ entriesMax: limits.teamFactsMax });
  readonly #processes = new BoundedMap<string, ClientProcess>({ entriesMax: limits.teamFactsMax });
  /** By lead: the names of the members that it begins in its turn, before the client's file lists them. */
  readonly #beginning = new BoundedMap<string, ReadonlySet<string>>({ entriesMax: limits.teamFactsMax });
  readonly #idleNotices = new BoundedMap<string, number>({ entriesMax: limits.teamFactsMax });

  constructor({ outside, client, words }: TeamsOptions) {
    this.client = client;
    this.looks = client === null ? null : new TeamLooks(outside, client);
    this.#words = words;
  }

  /** An event of the session said where its client keeps its files. */
  saw(session: string, home: string): void {
    this.#homes.set(session, home);
  }

  /** The client's folder; null if neither an event nor the process told. */
  homeOf(session: Session): string | null {
    return this.#homes.get(session.id) ?? this.processOf(session).home;
  }

  /** What the session's process says; a process is read once. */
  processOf({ incarnations }: Pick<Session, "incarnations">): ClientProcess {
    const anchor = incarnations.find(one => one.anchor !== null)?.anchor ?? null;
    return anchor === null ? silent : this.processAt(anchor);
  }

  processAt({ pid, startTime }: Anchor): ClientProcess {
    const key = `${pid} ${startTime}`;
    const known = this.#processes.get(key);
    if (known !== undefined) return known;
    const words = this.client === null ? null : this.#words(pid);
    const said = words === null || this.client === null ? silent : this.client.processOf(words);
    this.#processes.set(key, said);
    return said;
  }

  /** The lead's call to begin a member of this name was let through. */
  begins(lead: string, name: string): void {
    this.#beginning.set(lead, new Set([...this.beginning(lead), name].slice(-limits.teamMembersMax)));
  }

  /** That call did not run. */
  beginsNot(lead: string, name: string): void {
    this.#beginning.set(lead, new Set([...this.beginning(lead)].filter(one => one !== name)));
  }

  beginning(lead: string): ReadonlySet<string> {
    return this.#beginning.get(lead) ?? nobody;
  }

  /** The lead's turn has ended, and its calls with it. */
  turnEnded(lead: string): void {
    this.#beginning.delete(lead);
  }

  /** The client told a team's lead that a member is idle. */
  idleNoticed(team: string): void {
    this.#idleNotices.set(team, this.idleNotices(team) + 1);
  }

  idleNotices(team: string): number {
    return this.#idleNotices.get(team) ?? 0;
  }
}
