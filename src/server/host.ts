import type { Principal, StandardSchema } from '../core/index.ts';
import type { RegisteredTaskPrompt, RegisteredTaskResource, RegisteredTaskTool } from '../engine/index.ts';
import type { Session } from '../wire/rev2025-11-25/index.ts';
import type { ServingParts } from './parts.ts';
import type { CallToolResult, ServerContext, Transport } from './sdk.ts';

/** A tool as it is put on a server. */
export interface HostedTool extends Omit<RegisteredTaskTool['config'], 'inputSchema'> {
  /** What it yields is what the callback is given. */
  inputSchema?: StandardSchema | undefined;
  /** Whether it runs as a task, where tools say so. */
  execution?: { taskSupport: 'forbidden' | 'optional' | 'required' } | undefined;
}

/** A prompt as it is put on a server. */
export interface HostedPrompt extends Omit<RegisteredTaskPrompt['config'], 'argsSchema'> {
  /** What it yields is what the callback is given. */
  argsSchema?: StandardSchema | undefined;
}

/** A resource of the author's, as it is put on a server. */
export type HostedReadable = RegisteredTaskResource['config'];

type Answered = Promise<Record<string, unknown>>;

export interface HostedResource {
  title: string;
  description: string;
  mimeType: string;
}

/** What an answered request is told; what the handler throws is a JSON-RPC error if it has an integer code. */
export type MethodHandler = (params: unknown, ctx: ServerContext) => Promise<Record<string, unknown>>;

/** A server that is not connected yet, in whichever way its SDK has things put on it. */
export interface Host {
  /** @throws where the server has a tool of that name */
  registerTool(
    name: string,
    tool: HostedTool,
    callback: (args: unknown, ctx: ServerContext) => Promise<CallToolResult>,
  ): void;
  /** @throws where the server has a prompt of that name */
  registerPrompt(name: string, prompt: HostedPrompt, get: (args: unknown, ctx: ServerContext) => Answered): void;
  /**
   * @param uri of one resource, or a template of many
   * @throws where the server has a resource of that name
   */
  registerReadable(
    name: string,
    uri: string,
    resource: HostedReadable,
    read: (uri: URL, variables: Record<string, string | string[]>, ctx: ServerContext) => Answered,
  ): void;
  /** Of params and result nothing is checked, so that the codec decides what is valid, and in which order it looks. */
  registerMethod(name: string, handler: MethodHandler): void;
  /**
   * @param read `undefined`: there is no such resource
   * @throws where the server has a resource of that name
   */
  registerResource(
    name: string,
    uriTemplate: string,
    resource: HostedResource,
    read: (uri: URL, variables: Record<string, string | string[]>, ctx: ServerContext) => Promise<string | undefined>,
  ): void;
  registerCapabilities(capabilities: Record<string, unknown>): void;
  /** Whether the server has resources of its own. */
  readonly hasResources: boolean;
  /** Has the transport changed in place before the server is connected to it. */
  onConnect(change: (transport: Transport) => void): void;
  /** Of the connection that the server has; `undefined` until its client has said who it is. */
  session(): Session | undefined;
  /** Each request of the connection has a stream of its own, beside one for what nobody asked for; else there is one for all. */
  readonly hasStreams: boolean;
  /**
   * Tells when somebody begins to listen to what nobody asked for, and calls what that returns when he stops. `room` resolves
   * when another message would be read soon.
   * @returns false: who is connected listens
   */
  onListening(begun: (room: () => Promise<void>) => () => void): boolean;
  /** Whether what is told on the connection unasked reaches this principal, and nobody else. */
  hears(principal: Principal): boolean;
  /** Whether the SDK takes this for the result of a tool. */
  isToolResult(value: unknown): boolean;
  /** Under which name a tool that is registered with the tasks is listed. @default its own */
  shownAs?(task: string): string | undefined;
  /** Whether calls under a name are tasks. @default those of tools registered under it */
  keyed?(name: string): boolean;
  /** Told what the instance is served with, once all of that is there. */
  begin?(parts: ServingParts, instance: { connected: boolean }): void;
}
