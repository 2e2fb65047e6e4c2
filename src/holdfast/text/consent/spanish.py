"""Spanish patterns of wishes about memory, in the forms of Spain and Latin America.

They match a folded text: lower case, without accents.
"""

from typing import Final

_POLITE: Final = (
    r"(?:(?:por favor|porfa|porfis|ok|oye|oiga|che|mira|a ver|bueno|vale|dale|pues|y|pero|ah|eh|ey|hey|no|si|ya|ahora|entonces|ademas|tambien|solo|hola|disculpa|perdon|"
    r"bro|tio|tia|oe|causa|mijo|mija|hijo|hija|joven|wey|guey|boludo|parce|mano|manito|weon|pana|compa|bo|vos|tu|usted|mejor|igual|ay|uy|ups|pucha|nah|po|(?:ja|je|ji)+j?)[\s,.!:-]+)*"
)
_ASKING: Final = (
    r"(?:(?:me )?(?:puedes|podes|podrias|puede|podria|podras|quieres|queres) |(?:quiero|quisiera|necesito|prefiero|preferiria|me gustaria|te pido|le pido|os pido|pido|te ruego|ruego|"
    r"le agradeceria|agradeceria|solicito) (?:por favor )?que |(?:te|le|les|os) \w{3,}(?:o|ria) (?:por favor |mucho )?que |(?:haz|hace|hacé|haga) el favor de |(?:debes|deberias|tienes que|tenes que|hay que|te toca|vete|ve) |procura |asegurate de (?:que )?)?"
)
_FROM_WHEN: Final = (
    r"(?:(?:(?:de|desde|a partir de) (?:aqui|ahora|aca|ahorita|hoy|ya|este momento)(?: (?:en|pa|para) (?:adelante|mas))?|en adelante|por (?:ahora|hoy|el momento|un rato|favor)|"
    r"hasta (?:nuevo aviso|que [\w ]{2,20})|hoy(?: dia)?),? )?"
)
START: Final = rf"(?:^|(?<=[.,;:!?()\n¿¡–—-])\s*|(?<=\by )|(?<=\bpero )){_POLITE}{_FROM_WHEN}{_ASKING}{_POLITE}"
"""Matches the beginning of a clause, including words of politeness."""
KEEP: Final = (
    r"(?:(?:guard|anot|apunt|registr|grab|conserv|almacen|archiv)(?:es|e|en|eis|is|ar|as|a|ando|ara|aras|ase|ases)|"
    r"recuerd(?:es|e|en|as|a)|recordeis|recordar|recordes|memori(?:ces|ce|zar|zas|za|zando)|recordando|"
    r"reten(?:gas|ga|gan|er)|te quedes con|se quede con|quedarte con|te acuerdes de|se acuerde de|tomes? (?:nota|notas|apuntes) de|lleves registro de|dejes? (?:constancia|registro|rastro) de|"
    r"met(?:as|a)(?:lo|la)? en (?:tus?|sus?|la) (?:memoria|recuerdos|notas|archivos?|registros?)|agregu(?:es|e)|anad(?:as|a))"
)
_REPORTS: Final = (
    r"no (?:(?:me|te|se|nos|lo|la|los|las) )*(?:recuerdas?|memoriza|(?:guard|anot|apunt|registr|grab|conserv|almacen|archiv)a)\b"
)
"""Matches a verb that says what somebody does not do: "no recuerda". A wish has another form: "no recuerdes"."""
NOT: Final = (
    r"(?:no(?: (?:me |te |se |lo |la )?(?:vayas?|vayan) a(?: estar)?| (?:me |te |lo |la )?(?:estes?|esten|sigas?|sigan|andes?)| hace falta que| es necesario que| necesitas| tienes que| quiero que| quisiera que| se te ocurra| me| te| se| nos| lo| la| los| las)*|"
    r"(?:sin|ni|nunca|jamas|deja de|deje de|dejá de|evita|prefiero que no|preferiria que no|mejor no|que no)(?: que)?(?: me| te| se| lo| la)*)"
)
_THIS: Final = (
    r"(?:esto\b|eso\b|las? cosas? que (?:te|le|les|os|yo)\b|(?:mas )?nada\b(?: de (?:esto|eso|lo|esta|este|aqui|mi)| mas| mi[ao]| que|[.,!:]|$| por| hoy| mientras| hasta)|ninguna? (?:de|cosa)|lo (?:que|siguiente|ultimo|anterior|de)\b|"
    r"(?:est[aeo]s?|es[ae]s?|la siguiente|el siguiente|la ultima|el ultimo) (?:parte|conversacion|charla|mensaje|dato|informacion|pregunta|consulta|cosa|platica|frase|tema)|mi (?:ultimo|mensaje)|"
    r"(?:el|la) \w+ que (?:te|le|les|os) (?:dije|conte|di|pase))"
)
_MEMORY: Final = r"(?:memoria|memorias|notas|registros?|perfil|archivos?|historial|recuerdos|base de datos|cabeza|mente|cerebro|sistema|fichero|disco)"
_US: Final = r"entre (?:nosotros|nosotras|tu y yo|vos y yo|usted y yo|tú y yo|los dos|nos)"

OFF_RECORD_UNLESS: Final = (
    r"\b(?:me|nos|le) (?:dijo|dice|dijeron|dicen|pidio|pidieron|decia|explico)\b|\bno te guardes nada\b(?! (?:de|que)\b)"
)
"""Matches a report of what other people said, and "no te guardes nada" (hold nothing back). Neither is the user's wish."""
_CONFIDED: Final = (
    r"(?:^|[.,;:!(]\s*)(?:(?:y|pero|oye|ojo|mira|que|todo) )*(?:(?:esto|eso)(?: que (?:te|le|les|os) \w+)? |lo que (?:te|le|les|os) (?:digo|cuento|dije|conte|voy a \w+) |lo de ahora )?(?:es|sea) (?:muy |altamente |estrictamente |totalmente |super )?(?:confidencial|secreto|extraoficial)(?: (?:eh|ok|vale|si|entendido|esto|eso))*(?=\s*[.,;:!?)]|\s*$)",
    r"(?:^|[.,;:!(]\s*)(?:(?:y|pero|muy|todo) )*(?:confidencial|extraoficial) (?:esto|eso)\b",
    r"\b(?:te|se|os) lo (?:digo|cuento|comento|confieso) (?:muy )?(?:extraoficialmente|confidencialmente|en confianza|en secreto)\b",
    r"(?:^|[.,;:!(]\s*)(?:(?:y|pero|por favor|porfa) )*que (?:esto |eso )?no salga de (?:aqui|aca|est[ae] \w+)\b",
    r"(?:^|[.,;:!(¡]\s*)(?:(?:y|pero) )*(?:tu|vos|usted) no (?:has (?:oido|visto|leido|escuchado)|ha (?:oido|visto)|oiste|oyo|escuchaste|escucho|viste|leiste) (?:esto|eso)\b(?! (?:de|que)\b)(?!\?)",
)
"""Idioms of a wish that something is not kept. They hardly ever mean anything else."""
OFF_RECORD: Final = (
    *_CONFIDED,
    rf"{START}(?!{_REPORTS}){NOT} {KEEP}(?:lo|la|los|las|me lo|te lo)?(?: por favor| porfa| nunca| vos| tu| usted)? {_THIS}",
    rf"{START}no (?:(?:quiero|quisiera|necesito|hace falta|es necesario) que |me |te |se |vayas? a )*(?:(?:guard|anot|apunt|registr|grab|conserv|archiv)(?:es|e|en|eis|is|ar)|memori(?:ces|ce|cen)|tom(?:es|e) nota de) que\b",
    rf"\b(?:esto|eso|esto ultimo|eso ultimo|lo (?:que|de|ultimo|siguiente|anterior)[^.?!]{{0,60}}|esta (?:parte|conversacion|charla|pregunta|info\w*)|este (?:dato|mensaje))(?: que (?:te|le|les|os) (?:digo|cuento|dije|conte))?,? (?:por favor |porfa |mejor |prefiero que |quiero que |te pido que |que )*{NOT} {KEEP}(?:lo|la|los|las)?\b",
    rf"{START}no (?:me |te )?(?:lo|la|los|las) (?:{KEEP}|met(?:as|a) en tu memoria)(?: (?:en (?:ningun|tu|mi|tus)|nunca|ni|por favor|porfa|pero|eh|de)\b|[,:.!]? (?:pero|soy|tengo|estoy|mi|es)\b)",
    rf"{START}(?:ni )?no (?:met(?:as|a)|pong(?:as|a)|agregu(?:es|e)|anad(?:as|a)|guard(?:es|e)) (?:esto|eso|lo|nada)[^.?!]{{0,30}} (?:en|a) (?:tu|tus|mi|mis|la|lo que sabes)\b",
    rf"{START}(?:que )?(?:esto|eso|todo|lo que [^.?!]{{2,40}}|aqui)?,? ?(?:se )?(?:queda|quede|quedase|queden|que quede|es|sea|va)(?: solo| solamente| estrictamente| aqui)? {_US}\b(?! (?:tenemos|hay|dos|somos|sumamos))",
    r"(?:^|[.,;:!(¡]\s*)(?:(?:esto|eso|ok|y|pero|mira|oye|va|es|esta|todo|lo siguiente|lo que sigue|che|bro) )*(?:off the record|fuera de (?:registro|acta|micro|micros|camara|archivo)|extraoficial(?:mente)?|de incognito|en off|sin (?:guardar|grabar|registro|memoria|registrar|archivar|anotar|apuntar|dejar rastro|rastro))(?:[.,:;!)?]|$| (?:por|esta?|este|porfa|y|que|pero|te|me|mi|eh|nada|la|lo|bro|ok)\b)",
    r"(?:^|[.,;:!(]\s*)(?:que )?(?:de esto |esto |eso )?no (?:quede|queden|quedara|deje|dejes|debe (?:quedar|constar)|conste|tiene que quedar|se quede|se guarde|queda)\b(?: (?:constancia|rastro|registro|registrado|guardado|anotado|grabado|huella|en (?:tu|tus|mi|mis|la|el|ningun)))",
    r"\b(?:no|tampoco) (?:quiero|quisiera|deseo|autorizo|consiento|permito|me gustaria)(?: que)? (?:(?:esto|eso|lo) )?(?:\w+ )?(?:quede|queden|se quede|se guarde|guardes|guarde|almacenes|almacene|registres|conste|aparezca)(?: (?:esto|eso|guardado|registrado|en (?:tu|mi|la|el)|constancia|lo que|nada))",
    rf"{START}(?:deja|dejá|deje|dejad|para|pará|pare|pausa|pausá|pause|suspende|desactiva|apaga|corta|frena) (?:ya )?(?:de (?:guardar|grabar|anotar|apuntar|registrar|recordar|memorizar|tomar nota)|(?:la|tu|esa) (?:memoria|grabadora|grabacion))\b",
    r"(?:^|[.,;:!(¿]\s*)(?:(?:pon|ponte|ponete|activa|usa|en|un|el|entra|vamos|porfa|por favor|oye|a)\s+)*modo (?:privado|incognito|fantasma|invitado|secreto|anonimo)\b(?! (?:de|en|del) (?:chrome|safari|firefox|edge|el|la|google|navegador))",
    rf"{START}(?:olvida|olvidate(?: de)?|olvidá|olvide|olvidese(?: de)?) (?:guardar )?(?:lo (?:ultimo )?que (?:te )?(?:acabo|acabe) de|lo que (?:te )?dije recien|lo ultimo que (?:te )?dije|que (?:te )?dije eso|eso ultimo|lo que te dije (?:recien|hace un (?:rato|momento)))",
    r"(?:^|[.,;:!(¡]\s*)(?:(?:vos|tu|usted|y|mejor) )*(?:haz|hace|haga|hagamos|hacé) (?:de cuenta|como)(?: si| que)?(?: yo)? (?:que )?(?:no|nunca)\b",
    r"\b(?:eso|esto|lo) [^.?!]{0,40}\b(?:haz|hace|haga) (?:de cuenta|como)(?: si| que)? (?:no|nunca|jamas)\b",
    r"\b(?:habl|charl|convers|platic)(?:amos|emos|uemos|ar)\b[^.?!]{0,15} sin (?:memoria|registros?|guardar|grabar|anotar|apuntar|dejar rastro)(?=[.,;:!?]|$| (?:nada|esto|porfa|por favor)\b)",
    r"(?:^|[.,;:!(¡]\s*)(?:tu|vos|usted) no (?:has oido|oiste|escuchaste|viste|sabes) nada\b",
    r"\b(?:solo|solamente|nomas|unicamente|nada mas) (?:es )?(?:para|por|en) est[ae] (?:charla|chat|conversacion|consulta|platica|rato|vez)\b[^.?!]{0,20}(?:no|y ya|[,:])",
    r"\b(?:esto|eso|lo que [^.?!]{2,30}) no (?:sale|salga|sal(?:e|ga)) de aqui\b",
)
"""Patterns of a wish that something is not kept."""
COMMAND: Final = "|".join((rf"{START}(?!sin\b|ni\b|nunca\b){NOT} {KEEP}\b", *_CONFIDED))
"""Matches a plain command not to keep something, or an idiom that means this."""
BETWEEN_US: Final = (
    rf"^{_POLITE}(?:(?:esto|que quede|te lo digo|te cuento|te confieso|aca|aqui) )?{_US}(?: nomas| no mas| solo)?[:,]? (?:y )?(?:no lo|no|me|mi|estoy|soy|tengo|voy|creo|yo)\b(?! (?:tenemos|hay))",
)
"""Patterns with "entre nosotros", usually in a wish that something is not kept.

They can also match a plain statement about what some people share, so they count as weak evidence.
"""
REST: Final = (
    r"\b(?:(?:de|desde) (?:aqui|ahora|aca|ahorita|hoy) (?:en|pa) (?:adelante|mas)|desde (?:ahora|hoy|ahorita)|a partir de (?:ahora|aqui|este momento|ahorita)|de ahora en|en adelante|por (?:un|el) (?:rato|momento|ratito|resto)|por ahora|hasta (?:nuevo aviso|que (?:te|yo|me|se|lo))|no (?:me |te |lo )*(?:est(?:es?|en)|sig(?:as?|an)|vayas? a estar) \w+ndo|"
    r"mientras|(?:toda |en )?esta (?:conversacion|charla|sesion|platica)|este chat|el resto|(?:deja|deje|(?<!es )para|pare|pausa|pause|suspende|desactiva|apaga|corta|frena) (?:ya )?(?:de (?:guardar|grabar|anotar|apuntar|registrar|recordar|memorizar|tomar)|(?:la|tu|esa) (?:memoria|grabadora))|"
    r"modo (?:privado|incognito|fantasma|invitado|secreto|anonimo|sin \w+)|(?:habl|charl|platic|convers)ar (?:\w+ ){0,3}sin\b|nada de lo que (?:te )?(?:diga|cuente|oigas|hablemos)|memoria apagada|esta vez|esta noche|un (?:momento|rato|ratito)|hoy(?! (?:de|sobre) m[ia]))\b"
)
"""Matches words of a wish that covers all following messages."""
NEXT: Final = (
    r"\b(?:lo (?:que (?:viene|sigue|(?:te|le|les|os) (?:voy|vengo|quiero|tengo que)|voy a|(?:(?:te|le|les|os) )?(?:cuente|diga|hable|hablemos)(?: \w+)? (?:de|sobre))|siguiente)|lo proximo|(?:la|el) proxim[oa] (?:frase|mensaje|cosa|parte|pregunta|dato)|(?:ahora|luego) (?:te|le|les|os) (?:cuento|digo|confieso)|(?:te|le|les|os) (?:voy a|quiero) (?:contar|decir|confesar)|(?:puedo|te puedo) (?:contarte|decirte|contar|preguntar)|"
    r"(?:podemos|quiero) hablar|voy a desahogarme|necesito (?:hablar|desahogarme))\b"
)
"""Matches words of a wish that covers what the user says next."""
PREVIOUS: Final = (
    r"\b(?:lo (?:ultimo|anterior|de (?:antes|recien|hace))|hace un (?:rato|ratito|momento)|eso ultimo|esto ultimo|(?:lo|eso) que (?:te |le |les |os )?(?:acabo de|dije|conte|he \w+)|acabo de (?:decir|contar|escribir)|(?:te |le )?(?:dije|conte) (?:recien|antes|eso)|recien|"
    r"mi (?:ultimo|anterior) mensaje|mi mensaje anterior|eso era|eso fue|(?:no|nunca) (?:lo )?(?:oiste|escuchaste|dije|te dije)|como que no|que no existio)\b"
)
"""Matches words of a wish that covers what the user said before."""
MISTAKE: Final = (
    r"\b(?:no (?:debi|deberia|tenia que|tendria que|quise|queria) (?:haber(?:te|lo|selo)? )?(?:dec|dich|cont|mand|escri|envi|pon|puest)\w*|no era para (?:ti|vos|usted|aca|aqui)|"
    r"me equivoque de (?:chat|ventana|persona)|(?:chat|ventana) equivocad[oa]|lo (?:mando|escribio|puso) mi|(?:mande|envie|puse|escribi) (?:eso |esto )?(?:por error|sin querer)|(?:dije|hable) de mas|lo retiro|se me salio|demasiada info(?:rmacion)?)\b"
)
"""Matches the statement that the message before was a mistake, such as "no debí contarte eso"."""
LEAVE: Final = (
    r"\b(?:sal|salga|salgan|salte|sali|salir|quita|quite|desactiva|termina|acaba)(?: ya)? (?:ya )?(?:del?|el) modo (?:privado|incognito|fantasma|invitado|secreto|anonimo)\b",
    r"\b(?:se (?:acabo|termino)|fin del?|hasta aqui)(?: (?:el|la|lo))? (?:secreto|secretos|confidencia|confidencias|modo \w+|confidencial|privado|extraoficial)\b",
    r"\b(?:se acabo|fin|termino|sal|salí|salgamos) (?:el|del|de)? ?modo (?:privado|incognito|fantasma|secreto)\b|\bmodo (?:privado|incognito|fantasma) (?:fuera|apagado|off)\b",
)
"""Patterns of a wish to end a private mode, or of the statement that it is over."""
RESUME: Final = (
    *LEAVE,
    r"(?:^|[.,;:!¡] ?)(?:(?:y|pero|bueno|ya|ahora|vale|ok) )*(?:esto|eso|lo siguiente|lo que viene|ahora) si (?:que )?(?:(?:lo )?(?:puedes|podes|puede) )?(?:lo )?(?:(?:guard|anot|apunt|registr|memoriz)(?:a|e|ar|ad|en)(?:lo|la|melo|mela)?|recuerd[ae](?:lo|la)|recordar(?:lo|la)?)\b",
    r"\b(?:ya )?(?:puedes|podes|puede|podeis) (?:volver a )?(?:guardar|anotar|apuntar|registrar|grabar|recordar|memorizar|tomar nota|prender)\b[^.?]{0,40}",
    r"\b(?:vuelve|volve|vuelva|volved) a (?:guardar|anotar|apuntar|registrar|grabar|recordar|memorizar|tomar nota|lo normal)\b",
    r"\b(?:reanuda|activa|enciende|prende|reactiva) (?:la |tu )?(?:memoria|grabadora|grabacion)\b",
)
"""Patterns of a permission to keep the following messages again."""

_KNOWN: Final = (
    r"(?:sab(?:es|e|as|eis|ias|e|és)|sep(?:as|a|ais)|guardaste|guardo|guardas|has guardado|tienes|tenes|tengas|tiene|tenga|recuerd(?:as|es|a|e)|recordas|anotaste|apuntaste|registraste|conoces|"
    r"aprendiste|hayas (?:guardado|anotado|apuntado|agarrado)|tienes guardado|tenes guardado|tengas guardado)"
)
_TAKE: Final = (
    r"(?:borr(?:a|e|ar|en|ad|es)|elimin(?:a|e|ar|en|ad|es)|quit(?:a|e|ar|es)|sac(?:a|ar)|saque(?:s)?|suprim(?:e|i|a|ir|as)|descart(?:a|e|ar|ara|es)|retir(?:a|e|ar|es)|tach(?:a|e|ar|es)|"
    r"tir(?:a|e|ar)(?: a la basura)?|limpi(?:a|e|ar)|anul(?:a|e|ar)|desech(?:a|e|ar)|desaprend(?:e|é|er))(?:me|nos|te|se)?"
)
_FROM_MEMORY: Final = rf"(?:de|en) (?:tu|tus|su|sus|la|mi|vuestra) {_MEMORY}|de lo que {_KNOWN}(?: de mi)?"
_FORGET: Final = r"(?<!no )(?<!no te )(?<!no se )(?:olvid(?:a|e|ar|ad|es|en|ate|ese|arte|aos|atela|atelo)|olvidá|deja de (?:recordar|saber)|deje de (?:recordar|saber)|que se (?:te|le|os) (?:olvide|borre)|desaprende)(?: por favor| porfa| ya| vos| tu)?"

_SAID: Final = (
    r"(?:(?:todo )?(?:eso|esto|lo)(?: ultimo| mismo)? que (?:recien |ya )?(?:(?:te|le|les|os) )?(?:recien |ya )?"
    r"(?:acab[oe] de \w+|(?:he|habia) \w+|dije|conte|puse|escribi|comente|mencione|mande|envie)(?: (?:recien|antes|ahora|reci[eé]n nomas))?|"
    r"(?:eso|esto|lo) (?:ultimo|anterior)|lo de (?:recien|antes)|mi (?:ultimo|anterior) \w+|mi \w+ anterior|(?:el|la) (?:\w+ )?anterior)"
)
SAID: Final = rf"\b{_SAID}\b"
"""Matches words that refer to what the user has just said, such as "lo que acabo de decir"."""
_ERASE_IT: Final = r"(?:borr(?:a|e|en|ad)|elimin(?:a|e|en|ad)|quit(?:a|e|en|ad)|sac(?:a|ad)|saque|olvid(?:a|e|ad)|descart(?:a|e)|desaprend(?:e|a|ed)|purg(?:a|ue)|tach(?:a|e)|suprim(?:e|i|a)|desech(?:a|e)|pierde)(?:me|te|se)?"
BARE: Final = (
    rf"^{_POLITE}(?:(?:no|nono|anda|ay)[ ,]+)*{_POLITE}{_ASKING}(?:(?:eso|esto)(?: ultimo)?,? )?(?:{_ERASE_IT}(?:lo|la)(?: eso| esto)?|{_ERASE_IT} (?:eso|esto))"
    r"(?:[ ,]+(?:por favor|porfa|porfis|gracias|anda|si|dale|ya|nomas|mejor|poh?|pues|eh|wey|guey|bro|mano|parce|che|tio|tia|boludo|weon|pana|que \w+(?: \w+)?))*(?:,? (?:en cuanto|cuando|despues|apenas|una vez|al \w+r)\b[\w ]{0,60})?[.!]*$"
)
"""Matches a message that only asks to remove "that". The user may mean their last message, or a text being written."""
BARE_PART: Final = rf"{BARE}|^{_POLITE}{_ASKING}(?!no me lo recuerd){NOT} {KEEP}(?: eso| esto)?(?:[ ,]+(?:por favor|porfa|porfis|gracias|eh|si|dale|vale|mejor))*[.!]*$"
"""Matches the part of a message that asks to remove or not to keep "that". Its verbs often mean other things than memory."""
_SUBJUNCTIVE: Final = (
    r"(?:guard(?:es?|en)|recuerd(?:es?|en)|recordes|conserv(?:es?|en)|memori(?:ces?|cen)|(?:te|se) acuerd(?:es?|en) de)"
)
CEASE: Final = (
    rf"{START}no (?:me |lo )?{_SUBJUNCTIVE} mas (?P<subject>(?:cuant[oa]s?|donde|quien|como|mis?|que|lo del?)\b.*)",
    rf"\bya no (?:me |lo )?{_SUBJUNCTIVE} (?P<subject>(?:lo de|lo del|de que|que (?!te\b|le\b|yo te\b))\b.*)",
    rf"{START}(?:deja|deje|dejen|para|pare) de (?:record|acord|sab|guard|ten)\w+ (?:de )?(?P<subject>(?:que (?!(?:te|le|les|os|yo)\b)\w+ |lo de\b|lo del\b).*)",
)
"""Patterns of a wish that a known fact is no longer kept. The group ``subject`` names the fact."""
FORGET: Final = (
    rf"{START}(?P<subject>{_SAID}),? (?:por favor |porfa |mejor )*{_ERASE_IT}(?:lo|la)\b(?:,? (?:por favor|porfa|gracias|anda))*[.!]*$",
    rf"{START}(?:{_FORGET}|{_TAKE}) (?:de )?(?P<subject>{_SAID})[.!]*(?:,? ¿?(?:por favor|porfa|gracias|anda|si|vale|dale|ok))*[.!?]*$",
    rf"{START}{_FORGET} (?:de )?(?P<subject>(?:todo |absolutamente todo )?(?:lo que|lo de(?! (?:antes|recien)\b)|lo del|lo relativo|lo relacionado|cuanto)\b.*)",
    rf"{START}{_FORGET} (?:de )?(?P<subject>que (?!te\b.{{0,6}}acuerd|me\b.{{0,6}}acuerd)(?:soy|estoy|tengo|me|te|fumo|vivo|trabajo|mi|era|fui|no|alguna vez|una vez|en|\w+o\b|\w+é\b).*)",
    rf"{START}{_FORGET} (?:de )?(?P<subject>(?:mi|mis|nuestr[oa]s?)\b(?! (?:pregunta|cabeza)\b).*)",
    rf"{START}olvid(?:ate|ese|arte|aos) (?P<subject>(?:de |del |de la |de los |de las )(?!es[aoe]\b|esto\b|todo\b[,.]|la idea\b)[^,.;:!?]+)[.!]*$",
    rf"{START}{_FORGET} (?:de )?(?P<subject>(?:el|la|los|las) [\w ]{{2,40}} que (?:te|le|les|os) (?:di|dije|conte|pase|puse|mencione|comente)\b.*)",
    rf"{START}{_FORGET} (?:de )?(?P<subject>(?:donde|quien|cuanto|cuando|como se llama)\b.*)",
    rf"{START}{_TAKE} (?P<subject>[^.?]{{1,120}}?) (?:{_FROM_MEMORY})",
    rf"{START}{_TAKE} (?:{_FROM_MEMORY})[:,]? (?P<subject>[^.?]{{1,120}})",
    rf"{START}{_TAKE} (?P<subject>(?:eso |esto |todo |cualquier cosa |toda la informacion |los datos |el dato |la informacion )?(?:de )?(?:lo )?que (?:\w+ )?{_KNOWN}\b.*)",
    rf"{START}{_TAKE} (?P<subject>(?:todo )?(?:lo (?:de|del|que (?:te|le|les|os) (?:dije|conte|he (?:dicho|contado)|comente)|relativo|relacionado)|(?:el|la|los|las|ese|esa|esos|esas|tus) (?:datos?|info(?:rmacion)?|recuerdos?) (?:del?|sobre|que)|eso que (?:anotaste|guardaste|apuntaste))\b.*)",
    rf"{START}(?:borra|borre|elimina|elimine|quita) (?P<subject>mis? (?:\w+ )?(?:direccion|numero|telefono|cumpleanos|edad|peso|salario|sueldo|diagnostico|dieta|nombre|apodo|correo|trabajo|alergias?|datos(?: \w+)*))[.!]*(?: (?:por favor|porfa))?[.!]*$",
    r"\b(?:ya )?no (?:quiero|quisiera|necesito|hace falta) que (?:sigas )?(?:record(?:ando|es)|recuerdes|sab(?:iendo)|sepas|te acuerdes de|tengas guardad[oa])(?: mas)? (?P<subject>(?!esto\b|nada\b|lo que te voy)[^.,]*)",
    r"^(?P<subject>(?:lo (?:que (?:te|le|les|os) (?:dije|conte|comente)|de)|eso que (?:te|le|les|os) (?:dije|conte)|ese dato)[^.?!]{2,80}?),? (?:por favor |porfa |mejor |ya )*(?:olvid(?:alo|elo|ate)|borr(?:alo|elo)|elimin(?:alo|elo)|quit(?:alo|elo)|sacalo|saquelo|descart(?:alo|elo))\b[^.]{0,20}[.!]*$",
    rf"{START}(?P<subject>(?:borr(?:alo|ame|a)|elimin(?:alo|a)|olvid(?:alo|a|ate de)) (?:absolutamente )?todo)\b",
)
"""Patterns of a wish that something known is forgotten. The group ``subject`` names it."""
FORGET_NAMED: Final = rf"^{_POLITE}{_ASKING}{_POLITE}{_FORGET} (?:de |a )?(?!(?:eso|esto|el(?= *(?:[^\w ]|$))|todo|nada|lo|que|me|te|se|si|cuando|como|donde|quien|\w+[aei]r)\b)"
"""Matches the beginning of a message that may ask to forget something by its name."""
FORGET_UNLESS: Final = r"\bolvid(?:alo|elo)[,.!]* (?:mejor|pidamos|vamos|ya|da igual|no importa|pedimos|hagamos)|^\W*olvid(?:alo|elo|ate)\W*$|\b(?:un|por un) (?:segundo|momento|rato|instante|minuto)\b|\bpor ahora\b|\bdecia\b"

_FACT: Final = r"(?:que |esto ?[:,-] ?|lo siguiente ?[:,-] ?|: ?|, ?(?=mi|soy|tengo)|(?=mis? |nuestr))"
_NOT_NEGATED: Final = r"(?<!no )(?<!no me )(?<!no te )(?<!no se )(?<!no lo )(?<!nunca )"
_RECALL: Final = rf"{_NOT_NEGATED}(?:recuerd(?:a|e|en)|recordá|record(?:a|ad|ar|arte)|acuerd(?:ate|ese|ense)|acord(?:ate|aos|arte)|memori(?:za|zá|ce|zate|zad|zar)|recuerdes|te acuerdes|te acordaras|recordaras)"
_WRITE: Final = rf"{_NOT_NEGATED}(?:anot(?:a|ate|ame|e|eme|ad|ar|es)|anotá|apunt(?:a|ate|ame|e|eme|ad|ar|es)|guard(?:a|ate|ame|e|eme|ad|ar|es)|registr(?:a|e|ar|es)|grab(?:a|ate|e|ese)|agend(?:a|ame|ate|e)|almacen(?:a|e)|agreg(?:a|ue)|anad(?:e|i|a)|ten(?:e|ga|ed|er)? (?:en cuenta|presente)|tom(?:a|e|ad) nota(?: de)?|conserv(?:a|e))"
_ANNOUNCED: Final = r"(?:algo|(?:una?|otra?|dos|tres|unas|unos|estas|estos) (?:\w+ )?(?:cosa|cosita|cosas|dato|datos|detalle|detalles))(?: \w+){0,4} ?[:;.?–—-]+ ?"
"""Matches the announcement of a fact, with a colon or a full stop: "una cosa sobre mí: "."""
REMEMBER: Final = (
    rf"{START}(?:{_RECALL}|{_WRITE})(?: siempre| por favor| porfa| tambien| bien)?(?: de)? {_ANNOUNCED}(?P<fact>.+)",
    rf"{START}{_RECALL}(?: siempre| por favor| porfa| tambien| bien)?(?: de)? ?(?:que |esto ?[:,-] ?|lo siguiente ?[:,-] ?|: ?|, (?=mi|soy|tengo)|(?=mis? (?!casa de verano)|nuestr))(?P<fact>.+)",
    rf"{START}(?:no (?:te |se |me |lo |os )?olvid(?:es|e|en|eis|ar)|(?:que )?no se (?:te|le|os) olvide|no vayas? a olvidar(?:te)?|nunca (?:te )?olvides|no te vayas a olvidar)(?: nunca| por favor)?(?: de)? ?(?:que |: ?|(?=mis? ))(?P<fact>.+)",
    rf"{START}{_WRITE}(?: por favor| porfa| siempre| bien)?(?: (?:en|a) (?:tu|tus|la|mi|mis) {_MEMORY})?(?: para (?:siempre|la proxima|mas adelante|el futuro|despues|otra vez|otras charlas|luego))?(?: de)? ?(?:que |esto ?[:,-] ?|lo siguiente ?[:,-] ?|: ?|, ?(?=mi|soy|tengo|me)|(?=mis? |nuestr))(?P<fact>.+)",
    rf"{START}(?:toma|tome|tomá) (?:buena )?nota(?:,? (?:por favor|porfa))?[:,-] ?(?P<fact>(?:mis?|en mi|soy|tengo|somos|no|nunca|siempre|vivo|trabajo|nuestr\w+|la|el|los|las)\b.+)",
    rf"{START}(?:anad|agreg|sum|inclu|pon|apunt|anot)\w{{1,4}} a lo que (?:ya )?(?:sab|ten|tien|conoc)\w+ (?:de|sobre) (?:mi|nosotros)[:,]? (?:que )?(?P<fact>.+)",
    rf"{START}(?:reten|retene|retenga|retengas|no pierdas de vista|no vayas? a perder de vista|no lo (?:pierdas?|vaya a perder) de vista)(?: nunca| jamas)?(?: (?:una|esta|este|un|lo siguiente|esto)(?: \w+)?)? ?: ?(?P<fact>.+)",
    rf"{START}(?:guard|anot|apunt)(?:a|á|e|ate)(?:melo|lo|telo)(?: en (?:tu|la) memoria)? ?[:,-] ?(?P<fact>.+)",
    rf"{START}(?:qued[ae]te|quedese) con (?:(?:esto|(?:este|un) dato|una cosa|lo siguiente) ?[:,-] ?|que )(?P<fact>.+)",
    r"^\W*(?:(?:oye|por favor|me) )*(?:puedes|podes|puede|podrias|podria)(?: usted)? (?:guardar|anotar|apuntar|recordar|registrar|memorizar)(?:me)? (?P<fact>(?:mi|mis|(?:el|la|los|las) [^?]{2,40} de mis?) [^?]{2,40}\?\s*\w.*)",
    r"^(?P<fact>(?:mis?|soy|tengo|vivo|la|el) .{4,200}?) (?:porfa |por favor )?(?:guard|anot|apunt|memoriz)a(?:me|te)?(?:lo|la|los|las)(?: (?:porfa|por favor|vale|eh|ok|gracias))*[.!]*$",
    rf"{START}{_NOT_NEGATED}(?:recuerdes|te acuerdes(?: siempre)?(?: de)?|tengas en cuenta|anotes|apuntes|memorices|guardes|sepas) que (?P<fact>.+)",
    r"^(?:\w+[ ,]+){0,2}para (?:futur[ao]s? (?:conversaciones|referencias?|charlas|ocasiones|consultas)|la proxima|que te acuerdes|que lo recuerdes|tu memoria|el futuro|mas adelante)[:,] ?(?P<fact>.+)",
    r"^(?P<fact>.{4,200}?)[.,;:!-]+ ?(?:por favor,? |y |asi que |porfa,? |para la proxima,? )*(?:(?:guard|anot|apunt|memoriz|registr|recuerd|record)a(?:me|te)?(?:lo|la|los|las)|acuerdate|acordate|no lo olvides|no te olvides|tenlo en cuenta|tenelo en cuenta|tenlo presente|tenelo presente|no se te olvide|ten eso en cuenta|recuerda eso|recorda eso|guarda eso)(?:,? (?:por favor|porfa|vale|dale|eh|si|ok|gracias|de eso))*(?: para [\w ]{2,25})?[.!]*$",
)
"""Patterns of a wish that something is remembered. The group ``fact`` contains it."""
REMEMBER_UNLESS: Final = r"\bno (?:quiero|quisiera|necesito|hace falta|es necesario) que (?:me |te |se |lo )*(?:anot|apunt|guard|registr|grab|memori|record|recuerd|acuerd)|^\W*(?:te )?(?:acuerdas|acordas|recuerdas|recordas|se acuerda|os acordais)\b|\b(?:acuerd|acord)\w+ de \w+(?:ar|er|ir)(?:me|te|se|lo|la)?\b|\b(?:me|nos) (?:dijo|dice|decia|pidio)\W*$|\b(?:dice|decia|dijo) (?:mi|la|el)\b|\bguardar?e? (?:las|los|el|la) (?!datos?\b|\w+ de mis?\b)"
BARE_REMEMBER: Final = (
    rf"^{_POLITE}(?:(?:eso|esto)(?: si)?,? )?(?:(?:guard|anot|apunt|registr|memoriz|recuerd|record)a(?:me|te)?(?:lo|la|los|las)|(?:guard|anot|apunt|registr|memoriz|recuerd)a(?:te|me)? (?:eso|esto)|no lo olvides|tenlo presente)"
    r"(?:,? (?:por favor|porfa|vale|dale|eh|si|ok|gracias|ya|anda|que es importante|es importante))*[.!]*$"
)
"""Matches a message that only asks to remember "that", which the user has said before."""
ALL: Final = (
    r"\btodo(?:,? todo)?,? (?:lo que (?:me |te )?(?:sab(?:es|e|as|és)|sepas|sepa|tienes|tenes|tengas|recuerdas|guardaste|has guardado|conoces|conte|dije|he (?:dicho|contado))(?: (?:de|sobre) mi)?)(?: en tu memoria)?[.!]*$"
    r"|\b(?:borr(?:alo|a|ame)|elimin(?:alo|a)|olvid(?:alo|a|ate de)) (?:absolutamente )?todo[.!]*$|^de mi$|\btus recuerdos (?:de|sobre) mi$|\btu memoria (?:de|sobre) mi$"
)
"""Matches the subject of a wish to forget everything about the user."""
TEXT_COMMAND: Final = (
    r"^[¿¡ ]*(?:por favor |puedes |podes |ahora )*(?:traduce|traduci|traducime|traduzca|reescribe|reescribi|corrige|corregi|resume|resumi|parafrasea|que significa|que quiere decir|"
    r"explica|explicame|define|como (?:hago|se|puedo|funciona|borro|borra|evito|elimino|desactivo|apago)|escribe(?:me)? (?:un|una|el|la)\b|escribi(?:me)? (?:un|una|el|la)\b|redacta|por que|cuando|donde|cual|quien|es (?:seguro|posible|legal))\b"
)
"""Matches a question, or a request to work on a text, such as "translate". Such a message contains no wish about memory."""
WORDS: Final = (
    "por favor porfa olvida olvidate olvide olvidese olvidar olvides olvidad borra borrar borre borrame borralo elimina eliminar elimine elimines quita quitar quite quitalo saca sacar "
    "saque sacalo suprime suprima descarta descarte retira retire tacha tache tira basura limpia todo toda todos lo que de del sobre acerca relativo relacionado memoria notas registro "
    "registros recuerdo recuerdos recuerdes recordar recuerdas recordes perfil sabes sepas sabe sepa saber tienes tenes tengas tiene guardaste guardado guardas anotaste apuntaste dije "
    "conte contado dicho comente mencione pase di quiero quisiera ya no mas deja dejes puedes podrias podes me te se mi mis tu tus su sus yo vos usted el la los las un una eso esto ese "
    "esa dato datos informacion cosa cosas semana pasada ayer antes vez dia otro hace falta si tan amable haz hace favor alguna ahora siga sigas sabiendo recordando"
)
"""Words that are ignored when the subject of a wish to forget is determined."""
