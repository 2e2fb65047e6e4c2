"""English patterns of wishes about memory. They match a folded text: lower case, without accents."""

from typing import Final

_POLITE: Final = (
    r"(?:(?:please|pls|plz|ok|okay|hey|hi|so|well|oh|actually|also|just|and|but|um+|btw|by the way|now|listen|look|kindly|no|nope|yes|"
    r"yeah|wait|sorry|then|do|seriously|oops|lol|lmao|omg|ugh|ha(?:ha)*h?|ah|yo|nah|aight|alright|right|man|bro|dude|mate|fam|(?:you can )?go ahead and|feel free to|request you to|better)[\s,.!:-]+)*"
)
_ASKING: Final = (
    r"(?:(?:can|could|would|will) (?:you|u) (?:please |pls |just |maybe |kindly )*|i(?:'d| would)? (?:like|love|prefer|want|need) (?:you|u) to |"
    r"(?:you|u) (?:can|should|must|may|might|need to|have to|ought to|better) (?:now |just |also )*|let'?s |make sure (?:that )?(?:you|u) |"
    r"try to |be sure to )?"
)
_FROM_WHEN: Final = (
    r"(?:(?:from (?:here|now|this point|today|there)(?: on(?:wards?)?)?|henceforth|until (?:further notice|i (?:say|tell)[\w ]{0,20})|"
    r"for (?:now|today|a (?:while|bit)|the (?:time being|moment|rest of [\w ]{3,20}))|(?:today|tonight)),? )?"
)
START: Final = rf"(?:^|(?<=[.,;:!?()\n–—-])\s*|(?<=\band )|(?<=\bbut )|(?<=\bso )){_POLITE}{_FROM_WHEN}{_ASKING}{_POLITE}"
"""Matches the beginning of a clause, including words of politeness."""
NOT: Final = (
    r"(?:do not|don'?t|never|not|no need to|needn'?t|(?:you |u )?(?:don'?t|do not) (?:have|need) to|(?:i'?d |i would )?(?:rather|prefer(?: it)?)"
    r"(?: if| that)? (?:you|u) (?:didn'?t|not|did not|don'?t|do not)|i (?:do not|don'?t) want (?:you|u) to|(?:don'?t|do not) (?:you|u) (?:dare |ever |bloody )*|"
    r"stop|quit|refrain from|no longer|without(?: you)?)"
)
KEEP: Final = (
    r"(?:sav(?:e|ing)|stor(?:e|ing)|keep(?:ing)?|retain(?:ing)?|record(?:ing)?|remember(?:ing)?|log(?:ging)?|memori[sz](?:e|ing)|archiv(?:e|ing)|"
    r"writ(?:e|ing) down|not(?:e|ing)(?: down)?|(?:make|making) (?:a )?notes? of|keep(?:ing)? (?:a |any )?(?:notes?|records?|track) of|"
    r"tak(?:e|ing) (?:a |any )?notes? (?:of|on)|fil(?:e|ing)(?: away)?|hold(?:ing)? (?:on )?(?:to|onto)|hang(?:ing)? (?:on )?(?:to|onto))"
)
_THING: Final = r"(?:bug|issues?|tickets?|errors?|crash|expenses?|meeting|lines?|jacket|cheese|meat|milk|food|coat|shirt|plant|file|document|draft|game|photos?|pictures?|page|song|episode|tab|recipe|list|show|jar|code|version|call|movie|film|video|spot|seat|box|bottle)"
_THIS: Final = (
    rf"(?:(?:any|all|none|a word|one word|much)? ?(?:of )?(?:this|that|these|those)\b(?! (?:\w+ )?{_THING}\b)|what (?:i|comes|follows)\b|anything\b(?: i| from| here| of|[.!]|$)|"
    r"the (?:last|next|following|previous) (?:bit|part|thing|message|one|few|stuff|question|minutes?)|it (?:anywhere|in your|for later|either))"
)
_MEMORY: Final = r"(?:memor(?:y|ies)(?: banks?)?|notes?|records?|profile|files?|logs?|history|books|head|brain|database)"
_SAVED: Final = r"(?:saved|stored|recorded|remembered|retained|kept|logged|filed|memori[sz]ed|noted|written down|archived)"
_BETWEEN_US: Final = r"between (?:us|you and me|u and me|me and you|the two of us)"

OFF_RECORD_UNLESS: Final = r"\b(?:told|said to|tells|asked|begged|swore) (?:me|us|him|her|them)\b|\b(?:he|she|they|who|chair|teacher|boss|mate|cop) (?:said|says|yelled|told)\b|\bis what (?:my|our|the) \w+ (?:always |used to )?(?:said|says|say)\b"
"""Matches a report of what other people said. A wish in such a report is not the user's wish."""
_CONFIDED: Final = (
    rf"{START}(?:(?:this is|i'?m telling (?:you|u) (?:this |that )?|i tell (?:you|u) (?:this |that )?)\s*)?(?:strictly )?(?:confidentially|in (?:(?:the )?strict(?:est)? |complete |total )?confidence)\b(?=\s*[,:;.!)]|\s*$)",
    r"^confidential ?[:,]",
    r"(?:^|[.,;:!(]\s*)(?:(?:and|but|so|ok|please|now) )*(?:this|that)(?:'s| is| stays?| (?:must|has to|should) (?:be|stay))(?: (?:strictly|highly|totally|very|completely|all))? confidential(?=\s*[.,;:!?)]|\s*$)",
    r"(?:^|[.,;:!(]\s*)(?:(?:and|but|so|ok|now|remember) )*mum'?s the word\b",
    rf"{START}keep (?:this|that|it|what i [\w' ]{{2,30}}) under (?:your|ur) hat\b",
    r"\b(?:this|that|it|what i [\w' ]{2,30}) (?:mustn'?t|must (?:not|never)|can(?:'?t|not| not| never)|shouldn'?t|should (?:not|never)|may not|won'?t|is not to|better not)(?: ever)? (?:leave|get out of|go (?:beyond|outside)) (?:this|the|these) (?:chat|conversation|room|talk|window|session|walls)\b",
)
"""Idioms of a wish that something is not kept. They hardly ever mean anything else."""
OFF_RECORD: Final = (
    *_CONFIDED,
    rf"{START}{NOT} (?:please |ever |just )*{KEEP} {_THIS}",
    rf"{START}{NOT} (?:please |ever )*(?:write|note|jot|take) (?:any of )?(?:this|that|it|these)(?: \w+)? down",
    rf"{START}{NOT} (?:please |ever )*(?:put|add|enter|file|save|keep|store) (?:any of )?(?:this|that|it|these)(?: \w+)? (?:in|into|on|to|under) (?:your|ur|my|the|what you) {_MEMORY}",
    rf"{START}(?:leave|keep) (?:all )?(?:this|that|it|these|what i [\w ]{{2,40}})(?: one| bit| part)? (?:all )?(?:out of|off|outta|away from) (?:your|ur|the|my) {_MEMORY}",
    rf"{START}(?:keep|leave) (?:this|that|it)(?: \w+)? (?:strictly |just |only )?(?:{_BETWEEN_US}|to yourself|off the record)",
    rf"\b(?:this|that|it|these|everything|all)(?: \w+){{0,3}} (?:stays?|remains?|is|be|goes) (?:strictly |just |purely |only |all )?{_BETWEEN_US}(?! (?:and|we)\b)",
    (
        r"(?:^|[.,;:!(]\s*)(?:(?:ok|so|and|but|now|totally|strictly|completely|all|heads up|this (?:one|bit|part)?|that|it|what follows|what comes next|the following)(?:'s| is| stays| goes)?,? )*"
        r"off (?:the|your|ur) (?:record|books)(?:[.,:;!)]|$| (?:for|please|pls|ok|now|but|this|i|here|until|i'm|my|question|he|she|they|we)\b)"
    ),
    r"\b(?:go|going|be|talk|speak|stay|this is|is) (?:strictly |totally )?off (?:the|your) (?:record|books)(?:[.,:;!?)]|$| (?:for|please|here|until|now)\b)",
    rf"\b(?:none of (?:this|that|it)|nothing (?:i|here|from|in|of)\b[^.?]{{0,40}}) (?:should|must|can|may|is|gets?|goes|shall|will|to)\b[^.?]{{0,15}}(?:{_SAVED}|in(?:to)? (?:your|my|the) {_MEMORY})",
    rf"\b(?:this|that|it)(?: (?:one|bit|part|conversation|chat|message|next bit))? (?:should|must|can|may|is|are|does|do|shall|will|had better)(?: not|n'?t| never|not) (?:to )?(?:be |end up |go |get |have to be |need to be )?(?:{_SAVED}|in(?:to)? (?:your|ur|my|the) {_MEMORY})",
    rf"\bi (?:do not|don'?t|never|wouldn'?t) (?:want|like|need) (?:this|that|it|any of this|these)(?: \w+){{0,3}} (?:{_SAVED}|(?:in|on) (?:your|my|the) {_MEMORY})",
    rf"(?:^|[.,;:!]\s*)(?:and )?(?:this |that |it )?(?:is )?(?:not|never) (?:for|to go (?:in|on|into)|to be {_SAVED}(?: in| on)?) (?:the|your|my) (?:record|records|notes?|memory|files?|profile)\b",
    rf"(?:^|[.,;:!]\s*)(?:not|never) to be {_SAVED}\b",
    r"(?:^|[.,;:!]\s*)(?:no|zero) (?:memory|saving|keeping|recording|records?|notes?|trace|logs?|logging)(?: of| on| for| please| pls| this|[:.,!]|$)",
    rf"{START}(?:stop|pause|quit|suspend|turn off|switch off|disable) (?:(?:saving|remembering|storing|logging|recording)(?! (?:the|a|an|money|up|so|for (?!a |now|the )|\w+s)\b)|taking notes|keeping (?:notes|track|records)|(?:your|the|my)? ?memory)\b",
    r"(?:^|[.,;:!]\s*)(?:(?:go|switch|turn|put|use|into|in|to|on|let's|please|a|this is)\s+)*(?:private|incognito|guest|ghost|secret) mode\b(?! (?:in|on|of) (?:chrome|safari|firefox|edge|the|my))",
    rf"{START}forget (?:that )?(?:i|you|u) (?:just |ever )?(?:said|told you|wrote|sent|mentioned|saw|heard|read) (?:that|this|anything|it|all that)(?: one| bit| part)?\b[.!]*(?:$|,)",
    rf"{START}forget (?:what|everything|all) i(?:'ve| have)? (?:just|only just)(?: now)? (?:said|told|wrote|mentioned)",
    r"(?:^|[.,;:!]\s*)(?:pretend|act like|act as if|just pretend) (?:you (?:didn'?t|never|did not) (?:hear|heard|see|saw|read)|i (?:didn'?t|never|did not) (?:say|said|tell|told|write|wrote))",
    r"(?:^|[.,;:!]\s*)you (?:didn'?t|never|did not) (?:hear|heard|see) (?:this|that|it|any of this)\b",
    r"^(?:\w+[ ,]+){0,3}this (?:conversation|chat|talk) never happened\b",
    r"\b(?:do|keep|have|leave|make) this(?: one| bit| part| chat| conversation| talk)? (?:unlogged|unrecorded|unsaved|off[- ]log)\b",
    rf"\bi (?:don'?t|do not) (?:consent|agree) to (?:this|that|you|any of this)(?: \w+){{0,3}} (?:{_SAVED}|storing|saving|keeping|recording)",
    r"(?:^|[.,;:!]\s*)(?:this is |it'?s )?(?:just |strictly )?for (?:your|ur) (?:ears|eyes) only\b",
    r"(?:^|[.,;:!]\s*)(?:this is |it'?s )?(?:(?:just|only|strictly) for this (?:chat|conversation|session|talk)|for this (?:chat|conversation|session|talk) only)\b",
)
"""Patterns of a wish that something is not kept."""
COMMAND: Final = "|".join((rf"{START}{NOT} (?:please |ever |just )*{KEEP}\b", *_CONFIDED))
"""Matches a plain command not to keep something, or an idiom that means this."""
BETWEEN_US: Final = (
    rf"^{_POLITE}{_BETWEEN_US}(?: and (?:no one|nobody) else| only)?[:,]? (?:i|i'm|i've|my|we|this|he|he's|she|she's|they|they're|his|her)\b(?!(?:'ve)? (?:all )?(?:have|own|got|know|speak|had|can|ate|pay|earn)\b)",
    r"[,(–—-]\s*(?:just |strictly |only )?between (?:you and me|me and you)\W*$",
)
"""Patterns with "between us", usually in a wish that something is not kept.

They can also match a plain statement, such as "between us we raised three kids", so they count as weak evidence.
"""
REST: Final = (
    r"\b(?:from (?:here|now|this point|there) on(?:wards?)?|for (?:a (?:while|bit|moment|minute|sec|second|few)|now|the (?:rest|next|remainder)|this (?:whole |entire )?(?:chat|conversation|session|talk))|"
    r"this (?:whole |entire )?(?:conversation|chat|session|talk)|the rest of (?:this|the|our)|(?:stop|pause|quit|suspend|turn off|switch off|disable) (?:saving|remembering|recording|storing|logging|taking|keeping|your|the|my|memory)|"
    r"(?:private|incognito|guest|ghost|secret) mode|(?:nothing|none of what|anything) (?:i|we) (?:say|tell|write|type|discuss|talk about)|until (?:further notice|i (?:say|tell))|(?:stop|quit|refrain from) (?:record|sav|keep|stor|remember|not|log|writ)ing|henceforth|for the time being|altogether|while (?:i|my|we)|go(?:ing)? off the (?:record|books)|(?:talk|speak|chat) (?:\w+ ){0,3}without|no[- ](?:memory|save|saving|logs?|logging|retention) mode|memory off|this time|tonight|throwaway (?:chat|conversation|session))\b"
)
"""Matches words of a wish that covers all following messages."""
NEXT: Final = (
    r"\b(?:my (?:very )?next (?:message|bit|question|line|sentence)|what (?:comes|follows|i(?:'m| am) (?:about|going) to|i(?:'ll| will))|the (?:next|following)|i(?:'m| am) (?:about|going) to (?:tell|say)|"
    r"(?:can|could|may) (?:i|we) (?:tell|talk|ask|say)|let me tell|something i|i(?:'d| would) like to tell)\b"
)
"""Matches words of a wish that covers what the user says next."""
PREVIOUS: Final = (
    r"\b(?:what i(?:'ve| have)?(?: just| already)?(?: \w+)? (?:said|told|wrote|mentioned|shared)|i (?:just )?(?:said|mentioned|told you|wrote)|(?:my|the|that) (?:last|previous) (?:message|bit|part|thing|one|sentence)|"
    r"that last|(?:just now|a (?:second|moment|minute) ago|earlier)|i (?:didn'?t|never|did not) (?:say|said|tell|told)|you (?:didn'?t|never) (?:hear|heard) that|(?:you|u) ever (?:saw|heard|read)|that was)\b"
)
"""Matches words of a wish that covers what the user said before."""
MISTAKE: Final = (
    r"\b(?:(?:did not|didn'?t) mean to (?:send|say|tell|type|write|post|share|paste)|(?:was not|wasn'?t|not) (?:meant|intended) for (?:you|u|here|this)|wrong (?:chat|window|person)|"
    r"(?:should not|shouldn'?t|should never)(?: have|'?ve|a)? (?:said|told|shared|sent|typed|written|mentioned)|sent (?:that|this|it) by (?:mistake|accident)|i take (?:that|it) back|my bad|that slipped out|supposed to (?:stay|be|remain) (?:private|secret|between)|too much info(?:rmation)?|tmi|(?:did not|didn'?t) mean to overshare|overshared|"
    r"(?:grabbed|took|had|got|stole) my phone)\b"
)
"""Matches the statement that the message before was a mistake, such as "I did not mean to send that"."""
LEAVE: Final = (
    r"\b(?:private|incognito|guest|ghost|secret) mode (?:off|over)\b|\b(?:leave|end|exit|turn off|switch off) (?:the )?(?:private|incognito|guest|ghost|secret) mode\b",
    r"\b(?:come|go|get) out of (?:the )?(?:private|incognito|guest|ghost|secret) mode\b|^(?:\w+[ ,]+){0,3}(?:that's it for|no more|enough of|end of) (?:the )?(?:secrets?|private talk|off the record)\b",
)
"""Patterns of a wish to end a private mode, or of the statement that it is over."""
RESUME: Final = (
    *LEAVE,
    rf"\byou (?:can|may|could) (?:go back to |start )?(?:{KEEP}|tak(?:e|ing) notes)\b[^.?]{{0,30}}\b(?:again|now|normal|usual|as)\b",
    r"\b(?:back|again) on the record\b|^(?:\w+[ ,]+){0,3}on the record(?: again| now)?[.!]*$",
    rf"{START}(?:resume|restart|start|turn on|switch on|unpause|go back to|continue) (?:{KEEP}|(?:your|the|my)? ?memory|taking notes|normal)\b",
    r"\b(?:normal saving|saving is fine|memory (?:back )?on(?! (?:that|this|it|my|the)\b))\b",
    r"(?:^|[.,;:!] ?)(?:but |and |ok |now )*(?:this|that)(?: (?:one|bit|part))? you (?:can|may|should) (?:keep|save|remember|note(?: down)?|write down)\b",
)
"""Patterns of a permission to keep the following messages again."""

_NOT_MEANT: Final = r"(?:for (?:a|one) (?:second|sec|moment|minute|bit)|for now|let'?s|whatever|anyway|instead)"
_KNOWN: Final = (
    r"(?:know|knew|have|had|got|saved?|stored?|noted?|remember(?:ed)?|keep|kept|hold|recorded|written down|learned|picked up)"
)
_TAKE: Final = r"(?:delete|erase|remove|wipe|clear|drop|purge|scrap|scrub|strike|lose|dump|bin|trash|ditch|get rid of|throw (?:away|out)|take|cut|cross|unlearn|discard|get)"
_FROM_MEMORY: Final = (
    rf"(?:from|out of|off|in) (?:(?:your|ur|my|the) {_MEMORY}|what (?:you|u)(?:'ve)? {_KNOWN}|(?:your|ur) (?:mind|system|data))"
)

_ERASE: Final = (
    r"(?:(?:ignore|disregard) and )?(?:forget|delete|erase|remove|wipe|clear|drop|purge|scrap|scrub|scratch|strike|discard|redact|"
    r"un-?(?:save|remember|record|note|hear|know))"
)
_SAID: Final = (
    r"(?:(?:what|everything|all|all that|the (?:thing|stuff))(?: that)? i(?:'ve| have)?(?: only)?(?: just)?(?: now)? (?:said|told|wrote|typed|mentioned|shared|sent)(?: to)?(?: you)?"
    r"(?: (?:just now|now|before|earlier|a (?:second|moment|minute) ago))?|(?:my|the|that) (?:very )?(?:last|previous|preceding|above) (?:messages?|bits?|parts?|things?|ones?|statements?|sentences?|remarks?|comments?|words?|answer)|(?:all )?the above)"
)
SAID: Final = rf"\b{_SAID}\b"
"""Matches words that refer to what the user has just said, such as "my last message"."""
_THAT: Final = (
    r"(?:that|this|it|all that|all of that)(?: one| bit| part| last (?:bit|part|thing|one))?(?:[ ,]+(?:please|pls|ok|thanks|thank you|lol|omg|now|again|man|bro|dude|mate))*"
    r"(?:,? (?:once|after|when|as soon as) [\w' ]{2,60})?[.!]*$"
)
BARE: Final = rf"^{_POLITE}{_ASKING}{_POLITE}(?:{_ERASE} {_THAT}|(?:(?:delete|erase|undo)\b[ ,!]*){{2,}}(?:\w+[ !]*)?$)"
"""Matches a message that only asks to remove "that". The user may mean their last message, or a text being written."""
BARE_PART: Final = (
    rf"^{_POLITE}{_ASKING}{_POLITE}(?:{_ERASE}|get rid of|throw (?:away|out)|lose|bin|trash|ditch|{NOT} {KEEP}) {_THAT}"
)
"""Matches the part of a message that asks to remove or not to keep "that". Its verbs often mean other things than memory."""
CEASE: Final = (
    rf"^{_POLITE}{_ASKING}{_POLITE}(?:stop|quit) (?:saving|storing|keeping|retaining|remembering|memori[sz]ing) (?P<subject>(?:(?:that|the fact that) (?:(?:i|i'm|im|we|my|our|he|she)\b|(?:[\w'-]+ ){{1,4}}(?:is|are|was|were|has|have|had)\b)|about\b).*)",
    rf"^{_POLITE}{_ASKING}{_POLITE}(?:never|don'?t|do not) (?:ever )?remember (?P<subject>(?:that|the fact that) (?:i|i'm|im|i've|we|my|our|he|she)\b.*)",
    rf"^{_POLITE}(?P<subject>[^.?!,]{{3,80}}[^.?!, ])[,?.!]+ {_POLITE}(?:(?:don'?t|do not) (?:keep|remember|store|save|retain)|stop (?:keeping|remembering|storing)) (?:that|it|this|them) any ?(?:more|longer)[.!]*$",
)
"""Patterns of a wish that a known fact is no longer kept. The group ``subject`` names the fact."""
FORGET: Final = (
    rf"{START}{_ERASE} (?P<subject>{_SAID})[.!]*(?:,? (?:please|pls|ok|thanks|would you|will you|from [\w ]{{4,20}}))*[.!?]*$",
    rf"{START}(?:forget|drop|lose|erase|delete)(?: about)? (?P<subject>(?:the|that)(?: whole)? [\w' -]{{2,40}}? (?:thing|stuff|business|detail))(?:,? please)?[.!]*$",
    rf"{START}forget (?:about )?(?P<subject>(?:everything|all|anything|what(?:ever)?)(?: of what| that| about)? (?:i|you|we|u|about|my|me)\b.*)",
    rf"{START}forget (?:about )?(?P<subject>(?:that|the fact that) (?:i|i'm|we|my|our|he|she|it)\b(?! (?:just )?said (?:that|this|it|anything)\b).*)",
    rf"{START}forget (?:about )?(?P<subject>(?:where|who|how (?:old|much|many|tall)|which|when) (?:i|my|we|our|the)\b.*)",
    rf"{START}forget (?:about )?(?P<subject>(?:my|our)\b(?! (?:head|manners|question|last question)\b).*)",
    rf"{START}forget (?:about )?(?P<subject>the [\w' -]{{2,40}} (?:i|we) (?:told|gave|mentioned|said|shared|sent)\b.*)",
    rf"{START}forget (?:about )?(?P<subject>(?:the|that) (?!idea\b|whole\b|rest\b)[\w' -]{{2,40}}?),? please\b(?=$|[,.;!])",
    rf"^{_POLITE}{_ASKING}{_POLITE}forget about (?P<subject>(?!(?:it|that|this|them|the|him|her|me|us|everything)\b)[\w' -]{{3,40}})[.!]*$",
    rf"{START}(?:i(?:'?d| would) like|i want) (?P<subject>(?:my|the) [\w' -]{{2,40}}?) (?:deleted|erased|forgotten|removed)(?: {_FROM_MEMORY})?(?:,? please)?[.!]*$",
    rf"{START}forget (?P<subject>me)[.!]*(?: [^.]*)?$",
    rf"{START}{_TAKE} (?:out )?(?P<subject>[^.?]{{1,120}}?) {_FROM_MEMORY}\b",
    rf"{START}{_TAKE} {_FROM_MEMORY}[:,]? (?P<subject>[^.?]{{1,120}})",
    rf"{START}{_TAKE} (?P<subject>(?:what(?:ever)?|everything|anything|all|the (?:stuff|thing|things|bit|info|information|data))(?: of what| that| which)? (?:you|u)(?:'ve|'ve got| have)?(?: ever)? {_KNOWN}\b.*)",
    rf"{START}{_TAKE} (?P<subject>(?:what(?:ever)?|everything|anything|all)(?: that)? i(?:'ve| have)?(?: ever)? (?:told|said|mentioned|shared|gave)\b.*)",
    rf"{START}{_TAKE} (?P<subject>(?:all |any |every |the )?(?:memor(?:y|ies)|notes?|data|info(?:rmation)?|details?|facts?) (?:that|about|of|on|related to|concerning|regarding)\b.*)",
    rf"{START}(?:delete|erase|remove|wipe|clear) (?P<subject>(?:my|our) (?:\w+ )?(?:address|number|phone(?: number)?|birthday|age|weight|salary|diagnosis|diet|name|nickname|email|job|medical \w+|allerg\w+|history with you))[.!]*(?: (?:please|pls))?[.!]*$",
    r"\b(?:stop remembering|unlearn|un-know|i no longer want (?:you|u) to (?:remember|know)|i (?:do not|don'?t) want (?:you|u) (?:to (?:know|remember)|knowing|remembering)) (?:about )?(?P<subject>[^.]*?)(?: any ?more)?[.!]*$",
    rf"^(?P<subject>[^.?!]{{3,100}}?)[,?.]? (?:please |pls |just |so )*(?:delete|erase|remove|wipe|get rid of|drop|lose) (?:it|that|this|them|all that)(?: {_FROM_MEMORY})(?:,? please)?[.!]*$",
)
"""Patterns of a wish that something known is forgotten. The group ``subject`` names it."""
FORGET_NAMED: Final = (
    rf"^{_POLITE}{_ASKING}{_POLITE}forget (?:about )?"
    r"(?!(?:it|this|them|me|us|him|her|you|i|we|to|if|when|how|where|who|why|what\w*|everything|all|anything|that (?:i|we|my|our|he|she|it|you)|that(?= *(?:[^\w ]|$)))\b)"
)
"""Matches the beginning of a message that may ask to forget something by its name."""
FORGET_UNLESS: Final = rf"\bforget (?:about )?it\b|\b{_NOT_MEANT}\b"

_FACT: Final = r"(?:that |this\b ?[:,-]? ?|this for (?:later|next time|the future) ?[:,-] ?|: ?|, ?(?=my|i|we|the)|(?=(?:my|our|i|i'm|we|we're|i've|i'd|his|her|the)\b))"
_ANNOUNCED: Final = r"(?:something|(?:a|one|another|two|three|a few|some|these) (?:[\w-]+ )?(?:things?|facts?|details?))(?: [\w']+){0,4} ?[:;.?–—-]+ ?"
"""Matches the announcement of a fact, with a colon or a full stop: "something about me: "."""
REMEMBER: Final = (
    rf"{START}(?:(?:always |also )?(?:remember|memori[sz]e|keep in mind|note(?: down)?|save|store|write down))(?:,? please)? {_ANNOUNCED}(?P<fact>.+)",
    rf"{START}(?:please )?(?:always |also )?(?:remember|memori[sz]e)(?: always)?(?:,? please)? ?(?:that |this(?: for (?:later|next time|the future|me))? ?[:,-] ?|: ?|(?=(?:my|our|i|i'm|we|we're|i've|i'd|im)\b(?! (?:said|told|asked|mentioned)\b)))(?P<fact>.+)",
    rf"{START}(?:don'?t|do not|never|dont)(?: (?:you|u)(?: dare)?)?(?: ever)? forget ?(?:that |: ?|(?=(?:my|our|i|i'm|we|i've|im)\b))(?P<fact>.+)",
    rf"{START}(?:keep|bear|have) in mind(?: for (?:next time|later|the future))? ?(?:that |: ?|, ?|(?=(?:my|our|i|i'm|we|i've|im)\b))(?P<fact>.+)",
    rf"{START}(?:(?:make|take|keep) (?:a )?(?:mental )?note|note|jot|write|record|log|store|save|put|add|commit|file)(?: this| it)?(?: down| away)?(?: (?:in|into|to|on|under) (?:your|ur|my|the)? ?{_MEMORY})? ?(?:that (?=(?:my|our|i|i'm|we|we're|the|his|her|he|she|from)\b)|: )(?P<fact>.+)",
    rf"{START}(?:save|store|keep|record|note|log|remember|file|hang on to|hold on to|write|jot|put|add|commit)(?: this| the following)(?: one)?(?: down| away)?(?: (?:in|into|to|on) (?:your|ur|my|the)? ?{_MEMORY}| on file)?(?: for (?:me|later|next time|the future|future reference))? ?[:,-] ?(?P<fact>.+)",
    rf"{START}(?:add|put|include|append) (?:this |it )?(?:to|with) what (?:you|u)(?:'ve got| have| already)? (?:know|have|got) (?:about|on) (?:me|us)[:,]? (?:that )?(?P<fact>.+)",
    rf"{START}(?:write|note|jot) it down ?[:,-] ?(?P<fact>.+)",
    rf"{START}(?:add|save|store|put|commit|enter)(?: (?:in|into|to) (?:your|ur|my|the)? ?{_MEMORY}) ?(?:that |: ?|(?=(?:my|our)\b))(?P<fact>.+)",
    rf"{START}(?:add|save|store|put|commit|enter) (?P<fact>(?:my|our)\b[^.?]{{2,80}}?) (?:in|into|to) (?:your|ur|the)? ?(?:memory|memories|notes)[.!]*$",
    r"^(?:\w+[ ,]+){0,2}(?:for (?:future reference|the future|next time|your (?:records|memory|notes))|so (?:that )?you know (?:for (?:next time|the future|later)|from now on)) ?[:,-] ?(?P<fact>.+)",
    r"^(?P<fact>.{4,200}?)[.,;:!-]+ (?:please |pls |so |and |now )*(?:remember (?:that|this|it)|(?:don'?t|do not|never) forget (?:that|this|it)|keep (?:that|this|it) in mind|(?:make|take) (?:a )?note(?: of (?:that|this|it))?|note (?:that|this|it)(?: down)?|write (?:that|this|it) down|save (?:that|this|it)(?: for (?:later|next time))?|memori[sz]e (?:that|this|it)|keep (?:that|this|it) on file)(?: (?:for (?:me|later|next time|the future)|please|ok|will you))*[.!]*$",
    r"^(?P<fact>(?:my|our|the|i|i'm|im|we|his|her) .{4,200}?)(?<!\bdont)(?<!n't)(?<! not)(?<! never)(?<! to)(?<! you)(?<! u)(?<! i)(?<! we)(?<! do)(?<! can)(?<! will)(?<! would) (?:(?:please|pls|plz|so|and) )*(?:save|remember|note|memori[sz]e) (?:that|this)(?: down)?(?: (?:please|pls|plz|ok|thanks|thx|for me|will you))*[.!]*$",
)
"""Patterns of a wish that something is remembered. The group ``fact`` contains it."""
REMEMBER_UNLESS: Final = r"^(?:do|did|does|don'?t) (?:you|u|i|we|they|he|she)\b|\bremember (?:when|how|to|if|the time|what|who|where|whether)\b|\b(?:said|says|told|used to say|asked me|sang|sings)\b.{0,12}$"
BARE_REMEMBER: Final = rf"^{_POLITE}{_ASKING}{_POLITE}(?:(?:remember|note|save|store|keep|memori[sz]e) (?:that|this|it)(?: one| down)?|(?:write|note|jot) (?:that|this|it) down|(?:make|take) a note of (?:that|this|it))(?:,? (?:please|pls|ok|for me|thanks|will you|for later))*[.!]*$"
"""Matches a message that only asks to remember "that", which the user has said before."""
ALL: Final = (
    r"\b(?:everything|all(?: of it| that)?|anything|whatever) (?:(?:that )?(?:you|u)(?:'ve|'ve got| have)?(?: ever)? (?:know|have|saved|stored|remember|noted|got|learned)(?: (?:about|on|of))?(?: me)?(?: in your memory)?|about me|i(?:'ve| have)?(?: ever)? (?:told you|said))[.!]*$"
    r"|^me$|\b(?:delete|erase|wipe|forget) (?:it all|me completely|all of it|everything)[.!]*$|\b(?:your (?:whole |entire )?memory (?:of|about) me|all (?:your )?memories(?: (?:of|about) me)?)$"
)
"""Matches the subject of a wish to forget everything about the user."""
TEXT_COMMAND: Final = (
    r"^(?:please |can you |could you |now )*(?:translate|rewrite|rephrase|proofread|correct|summari[sz]e|paraphrase|what does|what is|what's|explain|define|who sings|"
    r"write (?:me )?(?:a|an|the|some)\b|draft|compose|how do (?:i|you)|how does|how can|why|when did|where|is it|does|do you|did)\b"
)
"""Matches a question, or a request to work on a text, such as "translate". Such a message contains no wish about memory."""
WORDS: Final = (
    "please pls plz forget forgetting erase erasing delete deleting remove removing wipe clear drop purge scrap scrub strike lose dump bin trash ditch get rid throw take "
    "out away memory memories note notes record records profile everything anything all whatever what you know known have saved stored noted remember remembered told said "
    "mentioned shared gave about regarding concerning related stuff thing things info information data details fact facts want wish longer don't would could can like now "
    "ever anymore more last week month year yesterday earlier ago day just actually stop remembering knowing let go it that this my me i your from the business bit part "
    "kindly unlearn so ok okay hey mind system brain related bits hold picked got"
)
"""Words that are ignored when the subject of a wish to forget is determined."""
