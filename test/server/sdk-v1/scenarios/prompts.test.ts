import { onSdkV1 } from '../../binding.ts';

onSdkV1();
await import('../../prompts.test.ts');
