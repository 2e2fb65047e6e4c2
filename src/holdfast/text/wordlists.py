"""Word lists that help to distinguish names from ordinary capitalized words: sentence openers, given names, months and days.

All words are folded: lower case, no accents.
"""

MONTHS: dict[str, str] = {
    spelling: month
    for month, spellings in {
        "january": "january jan enero ene",
        "february": "february feb febrero",
        "march": "march marzo",
        "april": "april apr abril abr",
        "may": "may mayo",
        "june": "june jun junio",
        "july": "july jul julio",
        "august": "august aug agosto ago",
        "september": "september sept sep septiembre setiembre",
        "october": "october oct octubre",
        "november": "november nov noviembre",
        "december": "december dec diciembre dic",
    }.items()
    for spelling in spellings.split()
}
"""Month spellings mapped to English names, so that dates compare across languages."""

DAYS: dict[str, str] = {
    spelling: day
    for day, spellings in {
        "monday": "monday mondays lunes",
        "tuesday": "tuesday tuesdays martes",
        "wednesday": "wednesday wednesdays miercoles",
        "thursday": "thursday thursdays jueves",
        "friday": "friday fridays viernes",
        "saturday": "saturday saturdays sabado sabados",
        "sunday": "sunday sundays domingo domingos",
    }.items()
    for spelling in spellings.split()
}

NUMBERS: dict[str, int] = {
    spelling: number
    for number, spellings in {
        2: "two dos",
        3: "three tres",
        4: "four cuatro",
        5: "five cinco",
        6: "six seis",
        7: "seven siete",
        8: "eight ocho",
        9: "nine nueve",
        10: "ten diez",
        11: "eleven once",
        12: "twelve doce",
        15: "fifteen quince",
        20: "twenty veinte",
        30: "thirty treinta",
        40: "forty cuarenta",
        50: "fifty cincuenta",
        60: "sixty sesenta",
        70: "seventy setenta",
        80: "eighty ochenta",
        90: "ninety noventa",
        100: "hundred cien",
    }.items()
    for spelling in spellings.split()
}

UNITS: dict[str, str] = {
    spelling: unit
    for unit, spellings in {
        "€": "€ eur euro euros",
        "$": "$ usd dollar dollars dolar dolares bucks",
        "£": "£ gbp pound pounds libras quid",
        "pesos": "peso pesos mxn ars",
        "soles": "soles",
        "%": "% percent",
        "°": "° °c °f degrees grados",
        "km": "km kms kilometre kilometres kilometer kilometers kilometro kilometros",
        "m": "m metre metres meter meters metro metros",
        "cm": "cm centimetres centimeters centimetros",
        "mm": "mm",
        "m²": "m2 m²",
        "mi": "mile miles millas",
        "ft": "ft feet foot",
        "kg": "kg kgs kilo kilos kilogramos",
        "g": "g gr grams grammes gramos",
        "mg": "mg milligrams miligramos",
        "lb": "lb lbs",
        "l": "l litre litres liter liters litro litros",
        "ml": "ml",
        "h": "h hr hrs hour hours hora horas",
        "min": "min mins minute minutes minuto minutos",
        "s": "sec secs second seconds segundos",
        "days": "day days dia dias",
        "weeks": "week weeks semana semanas",
        "months": "month months mes meses",
        "years": "year years yr yrs ano anos",
        "people": "people persons person personas persona",
        "gb": "gb",
        "mb": "mb",
        "tb": "tb",
        "kw": "kw",
        "kwh": "kwh",
    }.items()
    for spelling in spellings.split()
}

ORDINARY = frozenset(
    (
        # English openers, and words that often carry a capital
        "i i'm i'll i've i'd im ive ok okay yes yeah yep yup no nope nah oh ah hi hey hello bye goodbye thanks thank please sorry well so "
        "and but or also too now then today tomorrow tonight yesterday later soon maybe perhaps actually anyway however still already "
        "just only even ever never always often sometimes usually finally first second third last next another other every everyone "
        "everything everybody someone something somebody nothing nobody anyone anything each both either neither such same great good "
        "nice perfect awesome cool amazing lovely fine right sure exactly indeed absolutely definitely certainly probably possibly "
        "hopefully unfortunately sadly luckily honestly basically apparently obviously clearly generally especially instead meanwhile "
        "otherwise therefore thus since until unless although though because while whenever wherever whether whatever whoever despite "
        "during before after above below between among within without about against along around across behind beside beyond near "
        "here there where when why how what which who whose whom this that these those it its it's he she we they you your my our his "
        "her their me us him them a an the in on at by for from to with of off up down out over under again once if as is are was were "
        "be been being am do does did done don't doesn't didn't have has had having can could can't will would won't shall should may "
        "might must let let's lets get got give gave given go goes going gone went come came make made take took taken see saw seen say "
        "said tell told ask asked call called keep kept put set try tried use used using need needs want wants like likes love hate "
        "think know knew feel felt look looks find found start started stop stopped begin began end ended buy bought sell sold send sent "
        "read write wrote book booked order pay paid check note noted remember remind forget forgot save add added remove change changed "
        "update fix fixed move moved open close turn turned run walk drive eat drink cook sleep wake work works worked play plan plans "
        "planning talk speak meet met leave left stay wait help show bring brought hold pick choose decide decided agree agreed believe "
        "guess hope wish wonder imagine consider happy glad sad sorry hungry tired ready busy free new old big small little long short "
        "high low best better worst bad hard easy early late more most less least many much few some any all none half several enough "
        "one two three four five six seven eight nine ten morning afternoon evening night day days week weeks month year years time "
        "breakfast lunch dinner food coffee tea water money price cost budget rent job office meeting school home house family mom mum "
        "dad mother father sister brother wife husband kids children people friends everyone weather traffic music movie film phone "
        "email message list part step option total idea question answer reason problem issue point thing things way got it's that's "
        "there's here's what's who's how's where's he's she's we're they're you're we'll they'll you'll we've they've you've isn't "
        "aren't wasn't weren't haven't hasn't hadn't wouldn't couldn't shouldn't understood congratulations congrats welcome wow hmm "
        "lol omg btw fyi asap tv pm am faq re ps etc sounds looks seems done good-bye user assistant mentioned earlier known profile "
        "preferences topics history ongoing key"
    ).split()
    + (
        # Spanish openers
        "si no vale bueno pues hola adios gracias perdon perdona disculpa claro exacto genial perfecto estupendo bien mal muy mas menos "
        "tambien tampoco ademas entonces luego despues antes ahora hoy ayer manana anoche pronto tarde temprano siempre nunca jamas quizas "
        "quiza tal vez acaso ojala aunque porque pero sino y e o u ni que como cuando donde cual cuales quien quienes cuanto cuanta cuantos "
        "cuantas por para con sin sobre entre desde hasta hacia segun durante mediante contra tras bajo ante a al de del en el la los las lo "
        "un una unos unas este esta estos estas ese esa esos esas eso esto aquel aquella aquellos aquello mi mis tu tus su sus nuestro "
        "nuestra nuestros nuestras yo ella ellos ellas nosotros vosotros usted ustedes me te se nos os le les es son era eran fue fueron "
        "sera seran soy eres somos esta estan estoy estaba estaban estuvo ha han he has hemos habia habian hay hubo habra tengo tiene tienen "
        "tenia tenemos tuve tuvo tendre tendra hago hace hacen hacia hice hizo haz hazlo voy va van vamos iba fui ire ira ir quiero quiere "
        "quieren queria quisiera puedo puede pueden podria podemos puedes debo debe deben deberia sabes se sabe creo cree pienso piensa "
        "parece digo dice dijo dicen dile dime di oye mira ven dame pon ponle quita anota apunta recuerda recuerdame acuerdate olvida "
        "busca llama llamame llame llamo compra compre compro pide pedi manda mande envia envie escribe escribi lee lei prueba probe usa "
        "use usar usamos vive vivo vivimos trabajo trabaja trabajamos estudio estudia como comemos comi ceno desayuno bebo tomo duermo "
        "salgo sale salimos sali llego llega llegamos llegue vengo viene vino volvi vuelvo vuelve volvemos empece empieza empiezo "
        "termine termina reserve reserva reservamos pague paga pago cuesta costo vale gasto necesito necesita necesitamos prefiero "
        "prefiere gusta encanta odio espero espera ojo falta faltan queda quedan quedamos quede solo solamente incluso todavia aun ya asi "
        "todo toda todos todas algo alguien nada nadie ningun ninguno ninguna alguno alguna algunos algunas cada otro otra otros otras "
        "mismo misma mucho mucha muchos muchas poco poca pocos pocas varios varias tanto tanta primero primera segundo segunda tercero "
        "ultimo ultima proximo proxima gran grande bueno buena buenos buenas malo mala mejor peor nuevo nueva viejo vieja feliz triste "
        "cansado cansada listo lista uno dos tres cuatro cinco seis siete ocho nueve diez semana mes ano dia dias noche comida cena "
        "almuerzo desayuno cafe agua dinero precio presupuesto alquiler oficina reunion escuela colegio casa piso familia madre padre mama "
        "papa hermano hermana hijo hija hijos marido mujer esposa novio novia amigo amiga gente tiempo trafico musica pelicula telefono "
        "correo mensaje parte paso opcion total idea pregunta respuesta problema punto cosa cosas manera entendido enhorabuena "
        "felicidades bienvenido bienvenida vaya uf ay ah oh eh jaja oye don dona usuario asistente perfil preferencias temas historia "
        "clave curso mencionado"
    ).split()
)
"""Words that are not taken for names merely because they are capitalized at the start of a sentence."""

GIVEN_NAMES = frozenset(
    "ana anna maria carmen rosa lucia laura marta elena sara sarah paula pilar teresa isabel cristina beatriz silvia raquel andrea alba irene "
    "julia claudia sofia valentina camila daniela gabriela alejandra fernanda mariana natalia patricia monica veronica lorena adriana ines "
    "emma olivia ava mia amelia charlotte emily sophie sophia chloe hannah grace lily lucy ruth rachel rebecca jessica jennifer amy kate "
    "katie karen linda susan nancy lisa helen alice jane mary margaret elizabeth laura nora clara eva vera leonor aitana carla noa martina "
    "jose juan luis carlos javier miguel angel antonio manuel pedro pablo jorge alberto alejandro fernando sergio diego daniel david raul "
    "ruben ivan oscar mario marcos andres roberto ricardo eduardo rafael francisco paco pepe tomas hugo mateo lucas leo nicolas gabriel "
    "sebastian santiago joaquin ignacio nacho martin felipe enrique guillermo victor hector julio cesar ernesto gonzalo alvaro adrian "
    "john james robert michael william thomas tom tim jim joe jack sam samuel ben benjamin adam alex alexander andrew anthony brian chris "
    "christopher daniel dan edward eric ethan evan frank fred gary george greg harry henry ian jacob jake jason jeff jeremy jonathan "
    "joshua kevin kyle larry liam logan matt matthew max nathan nick noah oliver oscar owen patrick paul peter phil philip ryan scott "
    "sean simon stephen steve steven stuart theo tony tyler walter zach priya raj amir omar ali fatima aisha yuki kenji mei wei chen "
    "ingrid lars sven bjorn freya giulia marco luca chiara pierre marie claire amelie hans greta klaus".split()
)
"""Common given names, accepted at the start of a sentence without other evidence."""

PERSON_VERBS = frozenset(
    "said says told tells called calls wants wanted lives lived asked asks thinks knows agreed promised arrives arrived moved offered "
    "sent wrote recommended suggested texted emailed mentioned insisted dijo dice quiere vive viene vino piensa cree prefiere trabaja "
    "mando pidio recomendo sugirio llega cumple propuso insistio nacio".split()
)
"""Verbs whose subject is a person. A capitalized word before one of them, at the start of a sentence, is a name."""

CONNECTORS = ("de la", "de los", "de las", "of the", "de", "del", "of", "van der", "van", "von", "da", "di", "&")
