import { setTimeout as sleep } from 'node:timers/promises';
import {
  acceptedContent,
  createRequestStateCodec,
  fromJsonSchema,
  type InputRequests,
  inputRequired,
  type JsonSchemaType,
} from '@modelcontextprotocol/server';
import { type ContentBlock, type PrepareRequest, type StandardSchema, type Tasks, text } from 'longcall';
import { z } from 'zod';
import { registerAskingTools } from './asking-tools.ts';

/** A red pixel. */
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
/** One silent sample. */
const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';

/**
 * Seals what a multi-round call hands out, so that the next round can trust it; the server checks the seal before any
 * tool is called. A string, since a string is what `prepare` is given.
 */
export const requestState = createRequestStateCodec<string>({ key: crypto.getRandomValues(new Uint8Array(32)) });

/**
 * The tools that the suite's other scenarios call, as far as they can be tools of `createTasks`. None of their callers
 * speaks tasks, so each call runs as a durable task whose result is the answer.
 */
export function registerEverythingTools(tasks: Tasks): void {
  registerContentTools(tasks);
  registerRoundTripTools(tasks);
  registerAskingTools(tasks);
}

function registerContentTools(tasks: Tasks): void {
  const image: ContentBlock = { type: 'image', data: PNG, mimeType: 'image/png' };
  const resource = (name: string, mimeType: string, content: string): ContentBlock => ({
    type: 'resource',
    resource: { uri: `test://${name}`, mimeType, text: content },
  });
  const contents: Record<string, ContentBlock[]> = {
    test_simple_text: text('This is a simple text response for testing.').content,
    test_streaming_elicitation: text('Nothing but a result travels on this stream.').content,
    test_image_content: [image],
    test_audio_content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }],
    test_embedded_resource: [resource('embedded-resource', 'text/plain', 'This is an embedded resource content.')],
    test_multiple_content_types: [
      ...text('Multiple content types test:').content,
      image,
      resource('mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  };
  for (const [name, content] of Object.entries(contents)) {
    tasks.registerTool(name, { description: `Answers ${content.map(({ type }) => type).join(', ')}` }, () => ({
      content,
    }));
  }

  tasks.registerTool('test_error_handling', { description: 'Throws' }, () => {
    throw new Error('This tool intentionally returns an error for testing');
  });

  tasks.registerTool('test_tool_with_progress', { description: 'Reports progress' }, async (_args, task) => {
    // Further apart than reports are gathered for: each has to reach the caller through the store.
    for (const progress of [0, 50, 100]) {
      task.progress(progress, 100);
      await sleep(250, undefined, { signal: task.signal });
    }
    return text('done');
  });

  tasks.registerTool(
    'test_x_mcp_header',
    {
      description: 'Has an argument that clients mirror into a header',
      inputSchema: z.object({ region: z.string().meta({ 'x-mcp-header': 'Region' }).optional() }),
    },
    ({ region = 'none' }) => text(`region ${region}`),
  );

  tasks.registerTool(
    'json_schema_2020_12_tool',
    {
      description: 'Has arguments described with most of JSON Schema 2020-12',
      inputSchema: describedBy({
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        $defs: {
          address: {
            $anchor: 'addressDef',
            type: 'object',
            properties: { street: { type: 'string' }, city: { type: 'string' } },
          },
        },
        properties: {
          name: { type: 'string' },
          address: { $ref: '#/$defs/address' },
          contactMethod: { type: 'string', enum: ['phone', 'email'] },
          phone: { type: 'string' },
          email: { type: 'string' },
        },
        allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
        if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
        then: { required: ['phone'] },
        else: { required: ['email'] },
        additionalProperties: false,
      }),
    },
    (args) => text(JSON.stringify(args)),
  );
}

/** Tools that ask before their task is created: every round but the last is answered by `prepare`. */
function registerRoundTripTools(tasks: Tasks): void {
  const elicit = (message: string, requestedSchema: z.ZodObject) => inputRequired.elicit({ message, requestedSchema });
  const sample = (prompt: string, maxTokens: number) =>
    inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens });
  const requests = (inputRequests: InputRequests) => ({ respond: inputRequired({ inputRequests }) });
  const sealed = async (inputRequests: InputRequests, state: string) => ({
    respond: inputRequired({ inputRequests, requestState: await requestState.mint(state) }),
  });

  const roundTrip = (
    name: string,
    prepare: (request: PrepareRequest) => Promise<{ respond: object } | { prepared: string }>,
  ): void => {
    tasks.registerTool(
      `test_${name}`,
      {
        description: `Asks the client: ${name.replaceAll('_', ' ')}`,
        task: { prepare: (_args, request) => prepare(request) },
      },
      (_args, task) => text(String(task.prepared)),
    );
  };

  roundTrip('input_required_result_elicitation', async ({ answers }) => {
    const answer = acceptedContent(answers, 'user_name', named);
    if (answer === undefined) return requests({ user_name: elicit('What is your name?', named) });
    return { prepared: `Hello, ${answer.name}!` };
  });

  roundTrip('input_required_result_sampling', async ({ answers }) => {
    const answer = sampled.safeParse(answers?.capital_question);
    if (!answer.success) return requests({ capital_question: sample('What is the capital of France?', 100) });
    return { prepared: answer.data.content.text };
  });

  roundTrip('missing_capability', async ({ answers }) => {
    const answer = sampled.safeParse(answers?.llm_answer);
    if (!answer.success) return requests({ llm_answer: sample('Reply with the single word: pong', 16) });
    return { prepared: answer.data.content.text };
  });

  roundTrip('input_required_result_list_roots', async ({ answers }) => {
    const answer = listed.safeParse(answers?.client_roots);
    if (!answer.success) return requests({ client_roots: inputRequired.listRoots() });
    return { prepared: answer.data.roots.map(({ uri }) => uri).join(', ') };
  });

  roundTrip('input_required_result_multiple_inputs', async ({ answers }) => {
    const name = acceptedContent(answers, 'user_name', named);
    const greeting = sampled.safeParse(answers?.greeting);
    const roots = listed.safeParse(answers?.client_roots);
    if (name === undefined || !greeting.success || !roots.success) {
      return sealed(
        {
          user_name: elicit('What is your name?', named),
          greeting: sample('Generate a greeting', 50),
          client_roots: inputRequired.listRoots(),
        },
        'asked',
      );
    }
    return { prepared: `${greeting.data.content.text} ${name.name}, ${roots.data.roots.length} roots` };
  });

  for (const name of ['input_required_result_request_state', 'input_required_result_tampered_state']) {
    roundTrip(name, async ({ answers, state }) => {
      const answer = acceptedContent(answers, 'confirm', confirmed);
      if (answer === undefined || state !== name) return sealed({ confirm: elicit('Please confirm', confirmed) }, name);
      return { prepared: 'state-ok' };
    });
  }

  roundTrip('input_required_result_multi_round', async ({ answers, state }) => {
    const step1 = acceptedContent(answers, 'step1', named);
    if (step1 !== undefined) {
      return sealed({ step2: elicit('Step 2: What is your favorite color?', colored) }, step1.name);
    }
    const step2 = acceptedContent(answers, 'step2', colored);
    if (step2 === undefined || state === undefined) {
      return sealed({ step1: elicit('Step 1: What is your name?', named) }, 'asked');
    }
    return { prepared: `${state} likes ${step2.color}` };
  });
}

/** Arguments described in JSON Schema itself, for what no schema library writes. */
function describedBy(schema: JsonSchemaType): StandardSchema {
  // The SDK types the conversion targets more narrowly than Standard Schema does.
  return fromJsonSchema(schema) as unknown as StandardSchema;
}

const named = z.object({ name: z.string() });
const colored = z.object({ color: z.string() });
const confirmed = z.object({ ok: z.boolean() });
const sampled = z.object({ content: z.object({ text: z.string() }) });
const listed = z.object({ roots: z.array(z.object({ uri: z.string() })) });
