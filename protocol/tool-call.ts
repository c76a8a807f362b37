/** What Kite's plugin adds to calls of Kite's tools. */

/**
 * A parameter that Kite's plugin for a client adds to calls of Kite's tools: the id that its hook gave the call. The server takes
 * it out; no tool has it.
 */
export const callParameter = "kite_call";
