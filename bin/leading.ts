/** The parts of the leading half that commands of the base run. Each is loaded when a command needs it. */

/** `kite status --lead`. */
export const leadStatus = () => import("./lead/screen.ts");

/** Whether an agent is held to its role. */
export const leadRoles = () => import("./lead/roles.ts");

/** `kite explain NAME --log` and `--diff`. */
export const spawnOutput = () => import("./lead/spawn/look.ts");

/** `kite task import --from-team`. */
export const teamImport = () => import("./lead/team-tasks.ts");

/** The lists of clients below those of `kite task list`. */
export const clientLists = () => import("./lead/team-tasks.ts");

/** Settings of the leading half as text, and what a person's trust makes of them. */
export const leadSettings = () => import("./lead/settings.ts");

/** The check of `kite doctor` for trusted projects. */
export const trustCheck = () => import("./lead/check-trust.ts");
